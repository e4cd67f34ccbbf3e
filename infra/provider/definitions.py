"""Whether definitions are served: a controller that starts before its own fails and backs off."""

import time
from collections.abc import Callable, Sequence

from infra.errors import TrainyardError
from infra.kube import Cluster, condition, patiently

POLL_SECONDS = 0.3
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def wait_until_established(
    cluster: Cluster,
    names: Sequence[str],
    *,
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the API server serves all of the definitions; raises `TrainyardError` naming the others."""
    deadline = clock() + timeout_seconds
    while True:
        found = patiently(lambda: cluster.list(PATH), clock=clock, pause=pause)
        served = {item["metadata"]["name"] for item in found if condition(item, "Established")}
        missing = [name for name in names if name not in served]
        if not missing:
            return
        if clock() >= deadline:
            raise TrainyardError(
                f"not defined within {timeout_seconds:.0f} s: {', '.join(missing)}", next_step="pulumi up"
            )
        pause(POLL_SECONDS)
