"""Whether objects that another resource creates have come to work: what follows must not start before."""

import time
from collections.abc import Callable, Sequence

from infra.errors import TrainyardError
from infra.kube import Cluster, condition, patiently

POLL_SECONDS = 0.3


def wait_until_true(
    cluster: Cluster,
    paths: Sequence[str],
    kind: str,
    *,
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until all objects exist with a true condition; raises `TrainyardError` naming the others."""
    deadline = clock() + timeout_seconds
    missing = list(paths)
    while missing := [
        path for path in missing if not _is_true(cluster, path, kind, clock=clock, pause=pause)
    ]:
        if clock() >= deadline:
            raise TrainyardError(
                f"not {kind} within {timeout_seconds:.0f} s: {', '.join(missing)}", next_step="pulumi up"
            )
        pause(POLL_SECONDS)


def _is_true(
    cluster: Cluster,
    path: str,
    kind: str,
    *,
    clock: Callable[[], float],
    pause: Callable[[float], None],
) -> bool:
    found = patiently(lambda: cluster.get(path), clock=clock, pause=pause)
    return condition(found, kind) is not None
