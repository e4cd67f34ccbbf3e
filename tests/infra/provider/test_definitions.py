"""A controller waits until every one of its definitions is served."""

from typing import Any, cast

import pytest

from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.provider.definitions import wait_until_established


class Api:
    """Serves one more definition with each look."""

    def __init__(self, *names: str, pending: str = "") -> None:
        self.names, self.pending, self.now, self.looks = names, pending, 0.0, 0

    def list(self, path: str) -> list[dict[str, Any]]:
        self.looks += 1
        return [
            {
                "metadata": {"name": name},
                "status": {"conditions": [{"type": "Established", "status": str(name != self.pending)}]},
            }
            for name in self.names[: self.looks]
        ]

    def pause(self, seconds: float) -> None:
        self.now += seconds


def wait(api: Api, *names: str) -> None:
    wait_until_established(
        cast(Cluster, api), names, timeout_seconds=5, clock=lambda: api.now, pause=api.pause
    )


def test_it_waits_for_the_last_one() -> None:
    api = Api("a", "b", "c")
    wait(api, "c", "a")
    assert api.looks == 3


def test_one_that_never_comes_or_is_not_established_is_named() -> None:
    with pytest.raises(TrainyardError, match="not defined within 5 s: b, d"):
        wait(Api("a", "b", "c", pending="b"), "a", "b", "d")
