"""Whether a run has started, waits in its queue, or cannot start: judged from what the cluster says."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infra.errors import TrainyardError
from infra.kube import Cluster, condition, jobset_path, patiently

HOPELESS = (
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
)
POLL_SECONDS = 0.5
ECHO = re.compile(r"Error: \w+")


@dataclass(frozen=True)
class Snapshot:
    """What the cluster says of one run at one moment; plain API objects."""

    jobset: dict[str, Any] | None
    workload: dict[str, Any] | None
    pods: list[dict[str, Any]]
    events: list[dict[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """`state` is waiting, queued, running, stuck, stopped, finished or failed; `reason` is the cluster's own.

    A stuck run has pods that cannot start as they are, but its controllers have not given it up.
    """

    state: str
    reason: str = ""


def judge(seen: Snapshot) -> Verdict:
    """The run's state as far as the snapshot shows it."""
    if condition(seen.jobset, "Completed"):
        return Verdict("finished")
    failed = condition(seen.jobset, "Failed")
    if failed:
        return Verdict("failed", _with_pod_reasons(failed.get("message", "the JobSet failed"), seen))
    if is_stopped(seen.workload):
        return Verdict("stopped", "by a user; `trainyard resume` goes on from the newest checkpoint")
    if not condition(seen.workload, "Admitted"):
        return _judge_queue(seen.workload)
    hopeless = [reason for pod in seen.pods if (reason := _why_hopeless(pod, seen.events))]
    if hopeless:
        return Verdict("stuck", hopeless[0])
    wanted = seen.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] if seen.jobset else 0
    started = [pod for pod in seen.pods if _main_container_started(pod)]
    if wanted and len(started) >= wanted:
        return Verdict("running")
    return Verdict("waiting", _with_pod_reasons(f"{len(started)} of {wanted} workers have started", seen))


def is_stopped(workload: dict[str, Any] | None) -> bool:
    """Whether somebody has deactivated the run's workload."""
    return ((workload or {}).get("spec") or {}).get("active") is False


def observe(cluster: Cluster, namespace: str, name: str) -> Snapshot:
    """Read the run's objects from the cluster."""
    workloads = cluster.list(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads")
    owned = [w for w in workloads if any(o["name"] == name for o in w["metadata"].get("ownerReferences", []))]
    return Snapshot(
        jobset=cluster.get(jobset_path(namespace, name)),
        workload=owned[0] if owned else None,
        pods=cluster.list(
            f"/api/v1/namespaces/{namespace}/pods", labels=f"jobset.sigs.k8s.io/jobset-name={name}"
        ),
        events=cluster.list(f"/api/v1/namespaces/{namespace}/events", fields="type=Warning"),
    )


def wait_until_started(
    look: Callable[[], Snapshot],
    *,
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Verdict:
    """Wait until the run runs, is queued, or has ended.

    Raises `TrainyardError` with the pod's own event when it cannot start. A run that still verifies its data
    when the time is over counts as running: its pods did start.
    """
    deadline = clock() + timeout_seconds
    while True:
        seen = patiently(look, clock=clock, pause=pause)
        verdict = judge(seen)
        if verdict.state in ("failed", "stuck"):
            raise TrainyardError(f"the run cannot start: {verdict.reason}", next_step="trainyard status")
        if verdict.state != "waiting":
            return verdict
        if clock() >= deadline:
            if seen.pods and all(
                _init_container_runs(pod) or _main_container_started(pod) for pod in seen.pods
            ):
                return Verdict("running", "verifying the data set")
            raise TrainyardError(
                f"the run did not start within {timeout_seconds:.0f} s: {verdict.reason}",
                next_step="trainyard status",
            )
        pause(POLL_SECONDS)


def _judge_queue(workload: dict[str, Any] | None) -> Verdict:
    conditions = ((workload or {}).get("status") or {}).get("conditions") or []
    held = next((c for c in conditions if c["type"] == "QuotaReserved" and c["status"] == "False"), None)
    if held:
        return Verdict("queued", held.get("message", ""))
    return Verdict("waiting", "the queue has not looked at the run yet")


def _why_hopeless(pod: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in HOPELESS:
            event = _latest_event(pod, events) or waiting.get("message") or ""
            return f"pod {name}, container {container['name']}: {waiting['reason']}: {event}"
    for container in status.get("initContainerStatuses", []):
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            said = (ended.get("message") or "").strip()
            return f"pod {name}, container {container['name']} exited with {ended['exitCode']}: {said}"
    return None


def _with_pod_reasons(text: str, seen: Snapshot) -> str:
    reasons = [_why_hopeless(pod, seen.events) or _event_line(pod, seen.events) for pod in seen.pods]
    shown = sorted({reason for reason in reasons if reason})
    own = _latest_event(seen.jobset, seen.events) if seen.jobset else None
    if own and not shown:
        shown = [own]
    return "; ".join([text, *shown])


def _event_line(pod: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    event = _latest_event(pod, events)
    return f"pod {pod['metadata']['name']}: {event}" if event else None


def _latest_event(pod: dict[str, Any], events: list[dict[str, Any]]) -> str | None:
    mine = [e for e in events if e["involvedObject"].get("uid") == pod["metadata"].get("uid")]
    # The kubelet sends `Error: ErrImagePull` after the event that says why.
    mine = [e for e in mine if not ECHO.fullmatch(e["message"])] or mine
    mine.sort(key=lambda e: e.get("lastTimestamp") or e.get("eventTime") or "")
    return f"{mine[-1]['reason']}: {mine[-1]['message']}" if mine else None


def _main_container_started(pod: dict[str, Any]) -> bool:
    states = [c.get("state") or {} for c in (pod.get("status") or {}).get("containerStatuses", [])]
    return bool(states) and all("running" in s or "terminated" in s for s in states)


def _init_container_runs(pod: dict[str, Any]) -> bool:
    states = [c.get("state") or {} for c in (pod.get("status") or {}).get("initContainerStatuses", [])]
    return any("running" in s for s in states)
