from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from trainer import adapters
from trainer.adapters import Adapter
from trainer.checkpoint import saver as savers
from trainer.checkpoint import state, store
from trainer.checkpoint.saver import Saver
from trainer.checkpoint.state import Share
from trainer.checkpoint.store import CheckpointManifest
from trainer.config import Optimizer
from trainer.optimizer import AdamW

MANIFEST = CheckpointManifest(
    step=3,
    tokens_seen=30,
    sequences_seen=3,
    elapsed_seconds=0.0,
    layout={"world_size": 2},
    config_digest="",
    data_version="",
    identity={},
    files=(),
)


@pytest.fixture
def adapter() -> Adapter:
    return adapters.load("gloo")


def make_state(seed: int) -> SimpleNamespace:
    """A model and optimizer that have done one step."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
    optimizer = AdamW(model, Optimizer())
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    optimizer.step(learning_rate=0.1)
    return SimpleNamespace(model=model, optimizer=optimizer)


def tensors_of(training: SimpleNamespace) -> dict[str, torch.Tensor]:
    weights = {name: weight.detach().clone() for name, weight in training.model.named_parameters()}
    return weights | {name: value.clone() for name, value in training.optimizer.state().items()}


def make_saver(directory: Path, rank: int) -> Saver:
    return Saver(directory, attempt="a1", rank=rank, world_size=2, keep_last=2)


def shares(training: SimpleNamespace, adapter: Adapter) -> list[Share]:
    return [
        state.snapshot(training.model, training.optimizer, adapter=adapter, rank=rank, world_size=2)
        for rank in range(2)
    ]


def save(directory: Path, training: SimpleNamespace, adapter: Adapter) -> store.Checkpoint:
    ranks = [make_saver(directory, rank) for rank in range(2)]
    for saver, share in zip(ranks, shares(training, adapter), strict=True):
        saver.start(share, MANIFEST)
    for saver in ranks:
        saver.wait()
    assert [outcome.problem for saver in ranks for outcome in saver.finished()] == [None, None]
    found, _ = store.newest_whole(directory)
    assert found is not None
    return found


def test_two_ranks_save_and_one_restores_everything(tmp_path: Path, adapter: Adapter) -> None:
    training, other = make_state(1), make_state(2)
    expected = tensors_of(training)
    checkpoint = save(tmp_path, training, adapter)
    drawn = torch.rand(4)
    torch.manual_seed(99)
    state.restore(checkpoint, other.model, other.optimizer, adapter=adapter, rank=0)
    for name, tensor in tensors_of(other).items():
        assert torch.equal(tensor, expected[name]), name
    torch.testing.assert_close(torch.rand(4), drawn, rtol=0, atol=0)
    assert [part.file for part in checkpoint.manifest.files] == [
        *("rank-00000.safetensors", "rank-00000.json"),
        *("rank-00001.safetensors", "rank-00001.json"),
    ]
    assert not list(tmp_path.glob(".staging-*"))
    assert not list(checkpoint.path.glob("receipt-*"))


def test_each_rank_writes_about_its_share(tmp_path: Path, adapter: Adapter) -> None:
    sizes = {f"w{n}": size for n, size in enumerate((100, 90, 50, 40, 30, 20, 10, 1))}
    loads = [sum(sizes[name] for name in names) for names in state.divide(sizes, world_size=3)]
    assert sum(loads) == sum(sizes.values())
    assert max(loads) - min(loads) <= 20
    first, second = shares(make_state(1), adapter)
    assert {name for name in first.tensors if "random" not in name}.isdisjoint(second.tensors)


def test_later_steps_do_not_change_what_is_written(tmp_path: Path, adapter: Adapter) -> None:
    training, other = make_state(1), make_state(2)
    expected = tensors_of(training)
    taken = shares(training, adapter)
    for weight in training.model.parameters():
        weight.data.add_(1.0)
    training.optimizer.step(learning_rate=0.5)
    ranks = [make_saver(tmp_path, rank) for rank in range(2)]
    for saver, share in zip(ranks, taken, strict=True):
        saver.start(share, MANIFEST)
    for saver in ranks:
        saver.wait()
    checkpoint, _ = store.newest_whole(tmp_path)
    assert checkpoint is not None
    state.restore(checkpoint, other.model, other.optimizer, adapter=adapter, rank=0)
    for name, tensor in tensors_of(other).items():
        assert torch.equal(tensor, expected[name]), name


def test_nothing_is_committed_until_all_ranks_are_there(
    tmp_path: Path, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(savers, "PEER_TIMEOUT_SECONDS", 0.0)
    saver = make_saver(tmp_path, 0)
    saver.start(shares(make_state(1), adapter)[0], MANIFEST)
    saver.wait()
    (outcome,) = saver.finished()
    assert outcome.problem is not None
    assert "rank 1 did not write its share" in outcome.problem
    assert store.newest_whole(tmp_path) == (None, [])


def test_a_rank_that_cannot_write_tells_rank_zero(
    tmp_path: Path, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(share: Share, directory: Path, *, rank: int) -> None:
        raise OSError(28, "No space left on device")

    first, second = shares(make_state(1), adapter)
    peer, leader = make_saver(tmp_path, 1), make_saver(tmp_path, 0)
    with monkeypatch.context() as patch:
        patch.setattr(savers, "write_share", no_space)
        peer.start(second, MANIFEST)
        peer.wait()
    leader.start(first, MANIFEST)
    leader.wait()
    for saver in (peer, leader):
        (outcome,) = saver.finished()
        assert outcome.problem is not None
        assert "No space left on device" in outcome.problem
    assert store.newest_whole(tmp_path) == (None, [])
