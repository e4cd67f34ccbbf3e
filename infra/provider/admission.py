"""Whether the webhooks that judge a kind of object answer: a ready pod's Service may lag behind."""

import time
from collections.abc import Callable
from typing import Any

from infra.errors import TrainyardError
from infra.kube import ApiError, Cluster

POLL_SECONDS = 0.3


def wait_until_admitted(
    cluster: Cluster,
    path: str,
    item: dict[str, Any],
    *,
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Try to create `item` until its webhooks have judged it; nothing is created.

    Raises `TrainyardError` with the API server's words when they do not answer in time.
    """
    deadline = clock() + timeout_seconds
    while True:
        try:
            return cluster.try_create(path, item)
        except ApiError as error:
            if not error.passing:
                raise
            if clock() >= deadline:
                raise TrainyardError(
                    f"the webhooks of {path} did not answer within {timeout_seconds:.0f} s: {error.message}",
                    next_step="kubectl get pods -A",
                ) from None
        pause(POLL_SECONDS)
