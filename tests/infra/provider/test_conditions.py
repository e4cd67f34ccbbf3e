"""What follows waits until all objects that it needs exist and work."""

from typing import Any, cast

import pytest

from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.provider.conditions import wait_until_true


class Api:
    """Each object exists after as many seconds as its name says; time passes with each pause."""

    def __init__(self, *, pending: str = "") -> None:
        self.pending, self.now = pending, 0.0

    def get(self, path: str) -> dict[str, Any] | None:
        if self.now < float(path):
            return None
        return {"status": {"conditions": [{"type": "Ready", "status": str(path != self.pending)}]}}

    def pause(self, seconds: float) -> None:
        self.now += seconds


def wait(api: Api, *paths: str) -> None:
    wait_until_true(
        cast(Cluster, api), paths, "Ready", timeout_seconds=5, clock=lambda: api.now, pause=api.pause
    )


def test_it_waits_for_the_last_one() -> None:
    api = Api()
    wait(api, "3", "1")
    assert api.now >= 3


def test_what_never_comes_or_never_works_is_named() -> None:
    with pytest.raises(TrainyardError, match="not Ready within 5 s: 2, 9"):
        wait(Api(pending="2"), "1", "2", "9")
