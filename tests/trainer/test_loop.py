import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from trainer import adapters, loop, metrics
from trainer import config as configs
from trainer.checkpoint import store
from trainer.config import RunConfig
from trainer.data.verify import locate
from trainer.errors import Diverged, IncompatibleCheckpoint, Terminated, TrainerError
from trainer.metrics import Recorder
from trainer.model import Transformer
from trainer.stages import pretrain
from trainer.stop import StopSignal

Losses = Callable[[Path], dict[int, float]]


class Crash(Exception):
    """Stands for anything that ends a process at once."""


def moved(config: RunConfig, directory: Path, **training: Any) -> RunConfig:
    """The same run with directories of its own."""
    return config.model_copy(
        update={
            "output": configs.Output(directory=str(directory / "output")),
            "checkpoint": config.checkpoint.model_copy(update={"directory": str(directory / "checkpoints")}),
            "training": config.training.model_copy(update=training),
        }
    )


def make_session(config: RunConfig) -> loop.Session:
    adapter = adapters.load("gloo")
    directory, manifest = locate(Path(config.data.dataset), Path(config.data.cache))
    recorder = Recorder(
        Path(config.output.directory), config.metrics, run_id=config.run.id, rank=0, local_rank=0
    )
    device = adapter.device(0)
    return pretrain.build_session(
        config, directory, manifest, adapter=adapter, device=device, recorder=recorder
    )


def run(config: RunConfig) -> None:
    adapter = adapters.load("gloo")
    recorder = Recorder(
        Path(config.output.directory), config.metrics, run_id=config.run.id, rank=0, local_rank=0
    )
    pretrain.run(config, adapter=adapter, device=adapter.device(0), recorder=recorder, stop=StopSignal())


def never() -> bool:
    return False


def at_step(session: loop.Session, step: int, error: Exception | None = None) -> Callable[[], bool]:
    """A stop request, or a crash, while step number `step` is being done."""

    def ask() -> bool:
        reached = session.progress.step == step - 1
        if reached and error:
            raise error
        return reached

    return ask


def weights(config: RunConfig, step: int) -> dict[str, torch.Tensor]:
    path = Path(config.checkpoint.directory) / store.step_name(step)
    assert store.find_damage(path) is None
    return load_file(path / "rank-00000.safetensors")


def events(config: RunConfig) -> list[str]:
    lines = (Path(config.output.directory) / metrics.METRICS_FILE).read_text().splitlines()
    return [line["event"] for line in map(json.loads, lines) if line["kind"] == "event"]


def assert_same_result(first: RunConfig, second: RunConfig, losses: Losses) -> None:
    expected, found = losses(Path(first.output.directory)), losses(Path(second.output.directory))
    assert list(expected) == list(range(1, 13))
    assert found == expected
    theirs, ours = weights(first, 12), weights(second, 12)
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)


def test_a_run_ends_with_a_summary_that_names_the_baseline(one_rank: RunConfig) -> None:
    run(one_rank)
    output = Path(one_rank.output.directory)
    summary = json.loads((output / "summary.json").read_text())
    lines = metrics.read_lines(output, kind="validation")
    assert [line["step"] for line in lines] == [6, 12]
    assert summary["validation_loss"] == lines[-1]["loss"]
    assert summary["train_loss"] == metrics.read_lines(output, kind="train")[-1]["loss"]
    assert 1.0 < summary["bigram_loss"] < 4.0
    assert (summary["steps"], summary["tokens_seen"]) == (12, 12 * 8 * 32)
    assert (summary["exit"], summary["final_checkpoint"]) == ("finished", "step-00000012")
    names = sorted(path.name for path in Path(one_rank.checkpoint.directory).iterdir())
    assert names == ["step-00000008", "step-00000012"], "the last two stay"
    assert {"start", "checkpoint", "finished"} <= set(events(one_rank))
    assert json.loads((output / "environment.json").read_text())["adapter"] == "cpu"


def test_loss_falls(one_rank: RunConfig, losses: Losses) -> None:
    config = moved(one_rank, Path(one_rank.output.directory), num_steps=40)
    loop.train(make_session(config), stop_requested=never)
    curve = losses(Path(config.output.directory))
    assert curve[40] < curve[1] - 1.0


def test_a_crashed_run_continues_as_if_nothing_had_happened(
    one_rank: RunConfig, tmp_path: Path, losses: Losses
) -> None:
    whole, broken = moved(one_rank, tmp_path / "whole"), moved(one_rank, tmp_path / "broken")
    loop.train(make_session(whole), stop_requested=never)
    for step in (7, 11):
        session = make_session(broken)
        with pytest.raises(Crash):
            loop.train(session, stop_requested=at_step(session, step, Crash()))
        session.checkpointer.report()
        session.checkpointer._saver.wait()
    session = make_session(broken)
    assert session.progress.step == 8
    assert session.progress.tokens_seen == 8 * 8 * 32
    loop.train(session, stop_requested=never)
    assert_same_result(whole, broken, losses)


def test_a_stop_saves_at_the_end_of_the_step(one_rank: RunConfig, tmp_path: Path, losses: Losses) -> None:
    whole, stopped = moved(one_rank, tmp_path / "whole"), moved(one_rank, tmp_path / "stopped")
    loop.train(make_session(whole), stop_requested=never)
    session = make_session(stopped)
    with pytest.raises(Terminated, match="step 5 is safe"):
        loop.train(session, stop_requested=at_step(session, 5))
    session = make_session(stopped)
    assert session.progress.step == 5
    loop.train(session, stop_requested=never)
    assert_same_result(whole, stopped, losses)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    one_rank: RunConfig, tmp_path: Path, losses: Losses
) -> None:
    whole, damaged = moved(one_rank, tmp_path / "whole"), moved(one_rank, tmp_path / "damaged")
    for config in (whole, damaged):
        loop.train(make_session(config), stop_requested=never)
    path = Path(damaged.checkpoint.directory) / "step-00000012" / "rank-00000.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    session = make_session(damaged)
    assert session.progress.step == 8
    assert "checkpoint_passed_over" in events(damaged)
    loop.train(session, stop_requested=never)
    assert_same_result(whole, damaged, losses)


def test_a_complete_run_only_makes_sure_of_its_summary(one_rank: RunConfig, losses: Losses) -> None:
    run(one_rank)
    output = Path(one_rank.output.directory)
    first = json.loads((output / "summary.json").read_text())
    (output / "summary.json").unlink()
    run(one_rank)
    assert json.loads((output / "summary.json").read_text()) == first
    lines = (output / metrics.METRICS_FILE).read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "train" for line in lines) == 12


@pytest.mark.parametrize(
    ("section", "change", "expected"),
    [
        ("model", {"hidden_dim": 96}, "model.hidden_dim: the checkpoint has 64, this run has 96"),
        ("run", {"seed": 6}, "seed: the checkpoint has 5, this run has 6"),
        ("training", {"sequence_tokens": 16}, "sequence_tokens: the checkpoint has 32, this run has 16"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(
    one_rank: RunConfig, section: str, change: dict[str, Any], expected: str
) -> None:
    session = make_session(one_rank)
    with pytest.raises(Terminated):
        loop.train(session, stop_requested=at_step(session, 1))
    changed = getattr(one_rank, section).model_copy(update=change)
    with pytest.raises(IncompatibleCheckpoint, match=expected):
        make_session(one_rank.model_copy(update={section: changed}))


def test_divergence_names_the_step_and_the_rows(one_rank: RunConfig) -> None:
    session = make_session(one_rank)
    with pytest.raises(Terminated):
        loop.train(session, stop_requested=at_step(session, 2))
    with torch.no_grad():
        session.model.output.weight.fill_(float("nan"))
    with pytest.raises(Diverged, match=r"at step 3: loss nan.*train-0000\d\.bin row"):
        loop.train(session, stop_requested=never)
    assert "diverged" in events(one_rank)


def test_micro_batches_add_up_to_the_batch(one_rank: RunConfig, tmp_path: Path) -> None:
    gradients = []
    for size in (1, 8):
        config = moved(one_rank, tmp_path / str(size), micro_batch_sequences=size, precision="float32")
        session = make_session(config)
        windows = torch.from_numpy(session.loader.batch(0))
        loop._accumulate_gradients(session, windows)
        gradients.append(session.gradients.flat.clone())
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-6)


def test_a_last_checkpoint_that_fails_fails_the_run(
    one_rank: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    session = make_session(one_rank)
    monkeypatch.setattr(store, "commit", no_space)
    with pytest.raises(TrainerError, match=r"checkpoint of step 12 failed: .*No space left"):
        loop.train(session, stop_requested=never)
    assert "checkpoint_failed" in events(one_rank)


def test_a_save_is_skipped_while_another_is_written(one_rank: RunConfig) -> None:
    session = make_session(one_rank)
    session.checkpointer.save(session, still_saving=True)
    assert events(one_rank) == ["checkpoint_skipped"]
    assert store.newest_whole(Path(one_rank.checkpoint.directory)) == (None, [])


def test_precision_is_chosen_by_the_adapter_unless_declared(one_rank: RunConfig, tmp_path: Path) -> None:
    adapter = adapters.load("gloo")
    assert pretrain.choose_precision(one_rank, adapter) == adapter.best_precision()
    for precision in ("float32", "bfloat16"):
        config = moved(one_rank, tmp_path, precision=precision)
        assert pretrain.choose_precision(config, adapter) == precision


def test_an_unknown_backend_is_explained() -> None:
    with pytest.raises(TrainerError, match="no adapter for backend 'mpi'; known: gloo, nccl"):
        adapters.load("mpi")


def test_weights_do_not_depend_on_earlier_random_numbers(one_rank: RunConfig, tmp_path: Path) -> None:
    torch.rand(5)
    first = make_session(moved(one_rank, tmp_path / "a")).model
    torch.rand(50)
    second: Transformer = make_session(moved(one_rank, tmp_path / "b")).model
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
