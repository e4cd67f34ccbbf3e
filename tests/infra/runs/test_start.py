"""An `up` returns once a run runs or is queued, and fails with the pod's own event when it cannot start."""

from typing import Any

import pytest

from infra.errors import TrainyardError
from infra.runs.start import Snapshot, judge, wait_until_started

JOBSET = {
    "metadata": {"uid": "j"},
    "spec": {"replicatedJobs": [{"template": {"spec": {"parallelism": 2}}}]},
    "status": {},
}
ADMITTED = {"status": {"conditions": [{"type": "Admitted", "status": "True"}]}}
RUNNING = {"running": {}}


def pod(
    rank: int, *, main: dict[str, Any] | None = None, init: dict[str, Any] | None = None
) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if main is not None:
        status["containerStatuses"] = [{"name": "trainer", "state": main}]
    if init is not None:
        status["initContainerStatuses"] = [{"name": "verify-data", "state": init}]
    return {"metadata": {"name": f"run-worker-0-{rank}", "uid": f"u{rank}"}, "status": status}


def event(rank: int, reason: str, message: str, at: str = "1") -> dict[str, Any]:
    return {"involvedObject": {"uid": f"u{rank}"}, "reason": reason, "message": message, "lastTimestamp": at}


def ended(kind: str, message: str = "") -> dict[str, Any]:
    return JOBSET | {"status": {"conditions": [{"type": kind, "status": "True", "message": message}]}}


def test_running_only_when_every_worker_has_started() -> None:
    one = [pod(0, main=RUNNING), pod(1, main={"waiting": {"reason": "PodInitializing"}})]
    both = [pod(0, main=RUNNING), pod(1, main=RUNNING)]
    assert judge(Snapshot(JOBSET, ADMITTED, one, [])).state == "waiting"
    assert judge(Snapshot(JOBSET, ADMITTED, both, [])).state == "running"


def test_a_run_without_quota_is_queued_with_the_reason_of_the_queue() -> None:
    held = {
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "False", "message": "insufficient cpu"}]
        }
    }
    verdict = judge(Snapshot(JOBSET, held, [], []))
    assert (verdict.state, verdict.reason) == ("queued", "insufficient cpu")


def test_a_run_that_a_user_has_stopped_is_neither_queued_nor_failed() -> None:
    assert judge(Snapshot(JOBSET, {"spec": {"active": False}}, [], [])).state == "stopped"


def test_a_run_that_the_queue_has_not_seen_is_waited_for() -> None:
    assert judge(Snapshot(JOBSET, None, [], [])).state == "waiting"


@pytest.mark.parametrize(("kind", "state"), [("Completed", "finished"), ("Failed", "failed")])
def test_an_ended_run_is_over(kind: str, state: str) -> None:
    assert judge(Snapshot(ended(kind), ADMITTED, [], [])).state == state


@pytest.mark.parametrize("reason", ["ErrImageNeverPull", "ImagePullBackOff", "CreateContainerConfigError"])
@pytest.mark.parametrize("place", ["main", "init"])
def test_a_pod_that_cannot_start_fails_with_its_newest_event(reason: str, place: str) -> None:
    stuck = pod(1, **{place: {"waiting": {"reason": reason}}})
    events = [
        event(1, "Failed", "image x is not present", "2"),
        event(1, "Pulling", "older", "1"),
        event(0, "Failed", "another pod's", "3"),
    ]
    verdict = judge(Snapshot(JOBSET, ADMITTED, [pod(0, main=RUNNING), stuck], events))
    assert verdict.state == "stuck"
    assert verdict.reason.startswith("pod run-worker-0-1, container ")
    assert verdict.reason.endswith(f"{reason}: Failed: image x is not present")


def test_the_event_that_says_why_wins_over_its_echo() -> None:
    events = [
        event(0, "Failed", "Failed to pull image x", "1"),
        event(0, "Failed", "Error: ErrImagePull", "1"),
    ]
    stuck = pod(0, init={"waiting": {"reason": "ErrImagePull"}})
    assert judge(Snapshot(JOBSET, ADMITTED, [stuck], events)).reason.endswith("Failed to pull image x")
    only = judge(Snapshot(JOBSET, ADMITTED, [stuck], events[1:]))
    assert only.reason.endswith("Failed: Error: ErrImagePull")


def test_a_data_check_that_fails_shows_its_own_words() -> None:
    failed = pod(0, init={"terminated": {"exitCode": 78, "message": "train-00000.bin: checksum differs\n"}})
    verdict = judge(Snapshot(JOBSET, ADMITTED, [failed], []))
    assert verdict.state == "stuck"
    assert (
        verdict.reason
        == "pod run-worker-0-0, container verify-data exited with 78: train-00000.bin: checksum differs"
    )


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def waited(*seen: Snapshot, timeout_seconds: float = 100) -> Any:
    clock, looks = Clock(), list(seen)
    return wait_until_started(
        lambda: looks.pop(0) if len(looks) > 1 else looks[0],
        timeout_seconds=timeout_seconds,
        clock=clock,
        pause=clock.pause,
    )


def test_waiting_ends_with_the_start() -> None:
    both = [pod(0, main=RUNNING), pod(1, main=RUNNING)]
    assert waited(Snapshot(JOBSET, None, [], []), Snapshot(JOBSET, ADMITTED, both, [])).state == "running"


def test_an_unschedulable_pod_fails_at_the_deadline_with_its_event() -> None:
    events = [event(0, "FailedScheduling", "0/1 nodes are available: insufficient memory")]
    with pytest.raises(
        TrainyardError, match="FailedScheduling: 0/1 nodes are available: insufficient memory"
    ):
        waited(Snapshot(JOBSET, ADMITTED, [pod(0), pod(1)], events))


def test_a_run_without_pods_shows_the_event_of_its_jobset() -> None:
    refused = {
        "involvedObject": {"uid": "j"},
        "reason": "JobCreationFailed",
        "message": "denied",
        "lastTimestamp": "1",
    }
    with pytest.raises(TrainyardError, match="JobCreationFailed: denied"):
        waited(Snapshot(JOBSET, ADMITTED, [], [refused]))


def test_verifying_a_large_data_set_is_no_failure() -> None:
    pods = [pod(0, init=RUNNING), pod(1, init=RUNNING)]
    assert waited(Snapshot(JOBSET, ADMITTED, pods, [])).reason == "verifying the data set"
