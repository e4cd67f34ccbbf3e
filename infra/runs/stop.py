"""Stops and resumes a run by its queue: a deactivated workload's workers end and save a last checkpoint."""

import time
from collections.abc import Callable
from typing import Any

from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.runs import archive
from infra.runs.follow import ENDED, state_of
from infra.runs.start import observe

POLL_SECONDS = 1.0
TIMEOUT_SECONDS = 180.0


def stop_run(
    cluster: Cluster,
    jobset: dict[str, Any],
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Deactivate the run and wait until its pods are gone; an ended run stays as it is."""
    if state_of(cluster, jobset).state in ENDED:
        return
    _set_active(cluster, jobset, active=False)
    name, deadline = jobset["metadata"]["name"], clock() + TIMEOUT_SECONDS
    while any(_alive(pod) for pod in archive.pods_of(cluster, jobset)):
        if clock() >= deadline:
            raise TrainyardError(
                f"workers of {name} did not end in {TIMEOUT_SECONDS:.0f} s", next_step="trainyard status"
            )
        pause(POLL_SECONDS)


def resume_run(cluster: Cluster, jobset: dict[str, Any]) -> None:
    """Give a stopped run back to its queue; it goes on from its newest whole checkpoint."""
    _set_active(cluster, jobset, active=True)


def _set_active(cluster: Cluster, jobset: dict[str, Any], *, active: bool) -> None:
    namespace, name = jobset["metadata"]["namespace"], jobset["metadata"]["name"]
    workload = observe(cluster, namespace, name).workload
    if workload is None:
        raise TrainyardError(
            f"run {name} is not known to the queue yet", next_step="try again in a few seconds"
        )
    path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads/{workload['metadata']['name']}"
    cluster.patch(path, {"spec": {"active": active}})


def _alive(pod: dict[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
