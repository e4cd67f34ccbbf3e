"""A run's record holds what it was and how it ended, and is never half written."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.errors import TrainyardError
from infra.runs import records

CONFIG: dict[str, Any] = {
    "run": {"id": "first-1", "name": "first", "stage": "pretrain", "seed": 7},
    "parallel": {"data": 2, "tensor": 1, "pipeline": 1},
    "data": {"dataset": "/data/docs", "version": None},
    "checkpoint": {"directory": "/checkpoints/first-1"},
}
SUMMARY = {"exit": "finished", "final_checkpoint": "step-00000200", "data_version": "abc"}


def jobset(kind: str | None = "Completed", message: str = "") -> dict[str, Any]:
    pod = {"containers": [{"image": "localhost/trainyard/trainer:0"}]}
    job = {"template": {"spec": {"parallelism": 2, "template": {"spec": pod}}}}
    ended = [
        {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:10:00Z", "message": message}
    ]
    return {
        "metadata": {"name": "first-1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"replicatedJobs": [job]},
        "status": {"restarts": 1, "conditions": ended if kind else []},
    }


def build(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "stack": "local",
        "jobset": jobset(),
        "stopped": False,
        "data_version": "from-the-vault",
        "config": CONFIG,
        "image_digest": "sha256:1",
        "output": tmp_path / "output",
        "pods": [{"status": {"startTime": "2026-01-01T00:01:00Z"}}],
        "git": {"commit": "c", "dirty": False},
        "checkpoints": tmp_path / "checkpoints",
    }
    return records.build_record(**arguments | changes)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoints" / "step-00000200"
    checkpoint.mkdir(parents=True)
    (checkpoint / "COMMITTED").write_text("x")
    (checkpoint / "rank-00000.safetensors").write_bytes(b"12345")
    output = tmp_path / "output"
    output.mkdir()
    (output / "summary.json").write_text(json.dumps(SUMMARY))
    (output / "environment.json").write_text(json.dumps({"packages": {"torch": "2"}}))
    (output / "metrics.jsonl").write_text('{"kind": "train", "step": 1}\n{"kind": "tra')
    return tmp_path


def test_a_finished_run_is_recorded_whole(finished: Path) -> None:
    record = build(finished)
    assert (record["status"], record["exit"], record["attempts"]) == ("finished", "finished", 2)
    assert (record["started_at"], record["ended_at"]) == ("2026-01-01T00:01:00Z", "2026-01-01T00:10:00Z")
    assert record["data"] == {"name": "docs", "version": "abc"}
    assert (record["seed"], record["packages"]) == (7, {"torch": "2"})
    assert (record["image_digest"], record["git_commit"]) == ("sha256:1", "c")
    assert record["layout"] == {
        "nodes": 2,
        "cards_per_node": 1,
        "data": 2,
        "tensor": 1,
        "pipeline": 1,
        "world_size": 2,
    }
    assert record["checkpoint"]["step"] == 200
    assert record["checkpoint"]["num_bytes"] == 6


def test_a_checkpoint_without_its_marker_is_not_the_final_one(finished: Path) -> None:
    (finished / "checkpoints" / "step-00000200" / "COMMITTED").unlink()
    assert build(finished)["checkpoint"] is None


def test_a_failed_run_is_recorded_with_the_reason(tmp_path: Path) -> None:
    record = build(tmp_path, jobset=jobset("Failed", "jobset failed due to never-retry"))
    assert (record["status"], record["exit"]) == ("failed", "jobset failed due to never-retry")
    assert record["summary"] is None


def test_a_stopped_run_keeps_its_newest_whole_checkpoint(tmp_path: Path) -> None:
    for step, marker in ((100, True), (136, True), (150, False)):
        directory = tmp_path / "checkpoints" / f"step-{step:08d}"
        directory.mkdir(parents=True)
        if marker:
            (directory / "COMMITTED").write_text("x")
    record = build(tmp_path, jobset=jobset(None), stopped=True)
    assert (record["status"], record["checkpoint"]["step"]) == ("stopped", 136)
    assert record["data"]["version"] == "from-the-vault"


def test_a_running_run_has_no_end(tmp_path: Path) -> None:
    record = build(tmp_path, jobset=jobset(None))
    assert (record["status"], record["ended_at"]) == ("running", None)


def test_record_and_curves_lie_in_the_vault_and_can_be_written_again(finished: Path, places: Path) -> None:
    for _ in range(2):
        record = build(finished)
        records.write_record(record, output=finished / "output", destination=records.record_dir("first-1"))
    assert records.read_record("first-1") == json.loads(json.dumps(record))
    names = {path.name for path in records.record_dir("first-1").iterdir()}
    assert names == {"record.json", "run.yaml", "metrics.jsonl", "environment.json", "summary.json"}
    assert records.read_metrics(records.record_dir("first-1") / "metrics.jsonl") == [
        {"kind": "train", "step": 1}
    ]


def test_the_record_of_a_finished_run_stands_when_it_is_seen_again(finished: Path) -> None:
    first = build(finished)
    again = build(finished, pods=[{"status": {"startTime": "2026-02-02T00:00:00Z"}}])
    assert records.merge_record(first, again) is first
    assert records.merge_record(None, first) is first
    stopped = first | {"status": "stopped"}
    assert records.merge_record(stopped, again) == again | {"started_at": first["started_at"]}


def test_an_absent_record_names_those_there_are(places: Path) -> None:
    with pytest.raises(TrainyardError, match="no record of run 'x'"):
        records.read_record("x")
