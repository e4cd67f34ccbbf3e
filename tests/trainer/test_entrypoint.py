"""The real entrypoint: torchrun, two ranks on the loopback, and the exit code that a pod would have."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer.checkpoint import store


def moved(document: dict[str, Any], directory: Path) -> dict[str, Any]:
    """The same run with directories of its own."""
    return {
        **document,
        "checkpoint": {**document["checkpoint"], "directory": str(directory / "checkpoints")},
        "output": {"directory": str(directory / "output")},
    }


def contents(directory: Path, step: int) -> dict[str, bytes]:
    path = directory / "checkpoints" / store.step_name(step)
    assert store.find_damage(path) is None
    return {file.name: file.read_bytes() for file in path.glob("*.safetensors")}


def test_stopped_and_resumed_equals_undisturbed(
    document: dict[str, Any],
    entrypoint: Any,
    tmp_path: Path,
    losses: Callable[[Path], dict[int, float]],
) -> None:
    document["training"]["num_steps"] = 60
    code, out, err = entrypoint.run(moved(document, tmp_path / "whole"))
    assert (code, err) == (0, "")
    assert "2 ranks met" in out

    process = entrypoint.start(moved(document, tmp_path / "stopped"))
    assert process.stdout
    for line in process.stdout:
        if line.startswith("step 1/60"):
            break
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 143
    assert "is safe" in err
    done = losses(tmp_path / "stopped" / "output")
    assert max(done) < 60

    code, out, _ = entrypoint.run(moved(document, tmp_path / "stopped"))
    assert code == 0
    assert f"resumed at step {max(done)}" in out
    assert losses(tmp_path / "stopped" / "output") == losses(tmp_path / "whole" / "output")
    assert contents(tmp_path / "stopped", 60) == contents(tmp_path / "whole", 60)

    code, out, _ = entrypoint.run(moved(document, tmp_path / "stopped"))
    assert code == 0
    assert "nothing to do" in out


def test_divergence_is_never_retried(document: dict[str, Any], entrypoint: Any) -> None:
    document["optimizer"] = {"learning_rate": 1e30, "warmup_steps": 0}
    code, _, err = entrypoint.run(document)
    assert code == 78
    assert "diverged at step" in err
    assert "train-0000" in err
    assert "Traceback" not in err


def test_a_damaged_data_set_may_be_retried(
    document: dict[str, Any], entrypoint: Any, dataset: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in dataset.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes()[: None if path.suffix == ".json" else -2])
    document["data"]["dataset"] = str(damaged)
    code, _, err = entrypoint.run(document)
    assert code == 1
    assert "the manifest says" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"model": {"dim": -1}}, "model.dim: "),
        ({"parallel": {"data": 4}}, "parallel: data x tensor x pipeline is 4"),
    ],
)
def test_a_wrong_run_file_is_never_retried(
    document: dict[str, Any], tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({**document, **change}))
    command = [sys.executable, "-m", "trainer", "run", "--config", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 78
    assert result.stderr.startswith("error: ")
    assert expected in result.stderr


@pytest.mark.full
def test_two_pods_train_one_model(
    document: dict[str, Any], entrypoint: Any, tmp_path: Path, free_port_number: int
) -> None:
    pods = [entrypoint.start(document, nodes=2, node_rank=rank, port=free_port_number) for rank in (1, 0)]
    results = [(pod.communicate(), pod.returncode) for pod in pods]
    assert [code for _, code in results] == [0, 0], results
    summary = json.loads((tmp_path / "output" / "summary.json").read_text())
    assert summary["exit"] == "finished"
    environment = json.loads((tmp_path / "output" / "environment.json").read_text())
    assert environment["world_size"] == 2


@pytest.mark.full
def test_a_pod_that_never_comes_ends_the_wait(
    document: dict[str, Any], entrypoint: Any, free_port_number: int
) -> None:
    document["distributed"]["handshake_timeout_seconds"] = 1
    pod = entrypoint.start(document, nodes=2, node_rank=0, port=free_port_number)
    _, err = pod.communicate()
    assert pod.returncode == 1
    assert "rendezvous: the pods of this run did not all meet" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_pod_stopped_while_it_waits_for_the_others_says_so(
    document: dict[str, Any], entrypoint: Any, number: signal.Signals
) -> None:
    pod = entrypoint.start(document, nodes=2, node_rank=1, master="no-such-worker.invalid")
    assert pod.stdout.readline() == "waiting for the name no-such-worker.invalid\n"
    pod.send_signal(number)
    _, err = pod.communicate()
    assert pod.returncode == 143
    assert err.startswith("error: asked to stop")


@pytest.mark.full
def test_a_killed_rank_ends_the_pod_and_may_be_retried(
    document: dict[str, Any], entrypoint: Any, tmp_path: Path
) -> None:
    document["training"]["num_steps"] = 100_000
    process = entrypoint.start(document)
    assert process.stdout
    for line in process.stdout:
        if "committed" in line:
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ranks = Path(f"/proc/{children[0]}/task/{children[0]}/children").read_text().split()
    subprocess.run(["kill", "-KILL", ranks[-1]], check=True)
    process.communicate()
    assert process.returncode == 1
    newest, _ = store.newest_whole(tmp_path / "checkpoints")
    assert newest is not None
