import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from trainer import metrics
from trainer.config import Metrics
from trainer.metrics import Gauges, Recorder

NAMES = ("loss", "tokens_per_second")


def make_recorder(directory: Path, *, rank: int = 0, local_rank: int = 0, port: int = 0) -> Recorder:
    return Recorder(directory, Metrics(port=port, names=NAMES), run_id="r1", rank=rank, local_rank=local_rank)


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / metrics.METRICS_FILE).read_text().splitlines()]


def test_everything_is_one_json_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = make_recorder(tmp_path / "output")
    recorder.step({"step": 1, "loss": 2.5, "tokens_per_second": 12345.6})
    recorder.validation(step=1, loss=2.25)
    recorder.event("handshake", detail="2 ranks met")
    recorder.checkpoint(step=1, detail="step-00000001")
    recorder.progress({"step": 1, "loss": 2.5, "tokens_per_second": 12345.6}, num_steps=9)
    written = lines(tmp_path / "output")
    assert [line["kind"] for line in written] == ["train", "validation", "event", "event"]
    assert all(isinstance(line["time"], float) for line in written)
    assert written[2]["event"] == "handshake"
    assert "step 1/9  loss 2.5000  tokens_per_second 12,346" in capsys.readouterr().out


def test_restarts_append_and_a_cut_off_line_spoils_no_other(tmp_path: Path) -> None:
    make_recorder(tmp_path).step({"step": 1, "loss": 3.0})
    with (tmp_path / metrics.METRICS_FILE).open("a") as file:
        file.write('{"kind": "train", "st')
    recorder = make_recorder(tmp_path)
    recorder.step({"step": 1, "loss": 2.0})
    recorder.step({"step": 2, "loss": 1.0})
    assert [line["loss"] for line in metrics.read_lines(tmp_path, kind="train")] == [2.0, 1.0]
    assert metrics.read_lines(tmp_path, kind="validation") == []
    assert metrics.read_lines(tmp_path / "none", kind="train") == []


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    make_recorder(tmp_path).step({"step": 1, "loss": float("nan")})
    assert lines(tmp_path)[0]["loss"] is None


def test_other_ranks_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = make_recorder(tmp_path, rank=1, local_rank=1)
    recorder.step({"step": 1, "loss": 3.0})
    recorder.say("hello")
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out == ""


def test_prometheus_serves_the_chosen_metrics(free_port_number: int) -> None:
    gauges = Gauges(run_id="r1", rank=3, names=NAMES)
    assert gauges.serve(free_port_number) is None
    gauges.set({"loss": 1.5, "grad_norm": 9.0, "validation_loss": 2.0})
    with urllib.request.urlopen(f"http://127.0.0.1:{free_port_number}/metrics") as response:
        text = response.read().decode()
    assert 'trainyard_loss{rank="3",run="r1"} 1.5' in text
    assert 'trainyard_validation_loss{rank="3",run="r1"} 2.0' in text
    assert "grad_norm" not in text


def test_a_taken_port_is_recorded_and_not_fatal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))
        holder.listen()
        port = holder.getsockname()[1]
        make_recorder(tmp_path, port=port).step({"step": 1, "loss": 1.0})
    written = lines(tmp_path)
    assert written[0]["event"] == "metrics_port_unavailable"
    assert str(port) in written[0]["detail"]
    assert written[1]["step"] == 1
    assert f"no metrics on port {port}" in capsys.readouterr().out


def test_the_environment_names_what_runs() -> None:
    snapshot = metrics.environment(world_size=2, adapter="cpu", precision="float32")
    assert snapshot["world_size"] == 2
    assert snapshot["packages"]["torch"]
    assert json.dumps(snapshot)


@pytest.mark.parametrize(("rank", "local_rank", "speaks"), [(0, 0, True), (1, 1, False), (2, 0, True)])
def test_the_log_of_every_pod_follows_the_run(
    rank: int, local_rank: int, speaks: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = make_recorder(tmp_path, rank=rank, local_rank=local_rank)
    recorder.progress({"step": 1, "loss": 2.0, "tokens_per_second": 1.0}, num_steps=2)
    assert ("step 1/2" in capsys.readouterr().out) is speaks
