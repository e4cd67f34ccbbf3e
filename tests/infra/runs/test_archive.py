"""What a run leaves behind reaches the vault whole, whatever state its pods are in."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from infra import provenance
from infra.kube import ApiError, Cluster
from infra.runs import archive, records

CONFIG = {
    "run": {"name": "first", "stage": "pretrain", "seed": 1},
    "data": {"dataset": "/data/docs", "version": "0123456789ab"},
    "checkpoint": {"directory": "/checkpoints/first-1"},
    "parallel": {"data": 1, "tensor": 1, "pipeline": 1},
}
TRAINER = [{"name": "trainer", "image": "localhost/trainyard/trainer:1"}]
RAN = {"containerStatuses": [{"name": "trainer", "state": {"terminated": {"exitCode": 1}}}]}
NEVER_RAN = {"containerStatuses": [{"name": "trainer", "state": {"waiting": {"reason": "PodInitializing"}}}]}


def jobset(**annotations: str) -> dict[str, Any]:
    job = {"parallelism": 1, "template": {"spec": {"containers": TRAINER}}}
    return {
        "metadata": {
            "name": "first-1",
            "namespace": "team-a",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": annotations,
        },
        "spec": {"replicatedJobs": [{"template": {"spec": job}}]},
    }


class Api:
    """A cluster with one run; `logs` are by pod, an error in place of a log is raised."""

    def __init__(self, pods: list[dict[str, Any]], logs: dict[str, list[str] | ApiError]) -> None:
        self.pods, self.logs = pods, logs
        self.run = jobset()

    def get(self, path: str) -> dict[str, Any]:
        return {"data": {"run.yaml": yaml.safe_dump(CONFIG)}} if "configmaps" in path else self.run

    def list(self, path: str, **_: str) -> list[dict[str, Any]]:
        return self.pods if path.endswith("/pods") else []

    def log_lines(self, namespace: str, pod: str, *, container: str) -> Iterator[str]:
        found = self.logs[pod]
        if isinstance(found, ApiError):
            raise found
        yield from found


def pod(name: str, rank: int, status: dict[str, Any]) -> dict[str, Any]:
    annotations = {"batch.kubernetes.io/job-completion-index": str(rank)}
    return {"metadata": {"name": name, "annotations": annotations}, "status": {"phase": "Failed", **status}}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path))


def archived(api: Api) -> dict[str, Any]:
    return archive.archive_run(cast(Cluster, api), api.run, stack="local")


def log_of(rank: int) -> Path:
    return records.record_dir("first-1") / f"worker-{rank}.log"


def test_a_pod_that_ended_in_its_init_container_has_no_log_and_is_no_obstacle() -> None:
    api = Api([pod("a", 0, RAN), pod("b", 1, NEVER_RAN)], {"a": ["one", "two"]})
    archived(api)
    assert log_of(0).read_text() == "one\ntwo\n"
    assert not log_of(1).exists()


@pytest.mark.parametrize("status", [400, 404])
def test_a_log_that_is_gone_is_passed_over(status: int) -> None:
    archived(Api([pod("a", 0, RAN)], {"a": ApiError("gone", status=status)}))
    assert records.read_record("first-1")["status"] == "running"


def test_a_log_that_cannot_be_read_now_leaves_the_record_to_the_next_attempt() -> None:
    api = Api([pod("a", 0, RAN)], {"a": ApiError("no answer")})
    with pytest.raises(ApiError):
        archived(api)
    assert records.known_record("first-1") is None
    api.logs["a"] = ["one"]
    archived(api)
    assert log_of(0).read_text() == "one\n"


def test_the_record_names_the_commit_that_the_run_was_declared_from() -> None:
    api = Api([], {})
    api.run = jobset(**{provenance.COMMIT: "abc", provenance.DIRTY: "true"})
    record = archived(api)
    assert (record["git_commit"], record["git_dirty"]) == ("abc", True)
    assert json.loads((records.record_dir("first-1") / "record.json").read_text())["git_commit"] == "abc"


def test_a_run_began_with_its_first_attempt() -> None:
    api = Api([pod("a", 0, RAN | {"startTime": "2026-01-01T00:00:10Z"})], {"a": []})
    archived(api)
    api.pods = [pod("b", 0, RAN | {"startTime": "2026-01-01T00:05:00Z"})]
    api.logs["b"] = []
    assert archived(api)["started_at"] == "2026-01-01T00:00:10Z"
