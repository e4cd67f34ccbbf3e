import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from trainer import parallelize
from trainer.model import next_token_loss
from trainer.parallelize import GradientBuffer

RANK_SCRIPT = Path(__file__).with_name("gradient_rank.py")
SPEC = importlib.util.spec_from_file_location("gradient_rank", RANK_SCRIPT)
assert SPEC and SPEC.loader
gradient_rank = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gradient_rank)


def test_two_ranks_have_the_gradients_of_one(tmp_path: Path) -> None:
    outputs = [tmp_path / f"rank-{rank}.pt" for rank in range(2)]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(RANK_SCRIPT), str(rank), str(tmp_path / "store"), str(output)],
            env=environment,
        )
        for rank, output in enumerate(outputs)
    ]
    assert [process.wait() for process in ranks] == [0, 0]
    model = gradient_rank.make_model()
    buffer = GradientBuffer(model)
    windows = gradient_rank.make_windows()
    loss = next_token_loss(model(windows[:, :-1]), windows[:, 1:])
    loss.backward()
    for output in outputs:
        result = torch.load(output)
        torch.testing.assert_close(result["gradients"], buffer.flat, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(result["loss"].float(), loss.detach())
        assert result["norm"] == pytest.approx(buffer.clip(1e9), rel=1e-6)
        assert result["ranks"] == [0, 1]


def test_the_buffer_is_the_gradients() -> None:
    model = nn.Linear(3, 2)
    buffer = GradientBuffer(model)
    model(torch.ones(1, 3)).sum().backward()
    assert model.weight.grad is not None
    assert torch.equal(buffer.flat, torch.ones(8))
    assert (buffer.num_bytes, buffer.exchanged_bytes) == (32, 0)
    buffer.zero()
    assert not model.weight.grad.any()


def test_clipping_scales_to_the_limit_and_no_further() -> None:
    model = nn.Linear(2, 1, bias=False)
    buffer = GradientBuffer(model)
    buffer.flat.copy_(torch.tensor([3.0, 4.0]))
    assert buffer.clip(10.0) == pytest.approx(5.0)
    assert buffer.flat.tolist() == [3.0, 4.0]
    assert buffer.clip(1.0) == pytest.approx(5.0)
    torch.testing.assert_close(model.weight.grad, torch.tensor([[0.6, 0.8]]))


def test_a_world_of_one_needs_no_process_group() -> None:
    assert (parallelize.rank(), parallelize.world_size()) == (0, 1)
    assert parallelize.broadcast_object("x") == "x"
    assert parallelize.gather_objects("x") == ["x"]
    assert parallelize.sum_over_ranks(torch.tensor(2.0)).item() == 2.0
