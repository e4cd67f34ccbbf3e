"""A run is followed to its end; one whose pods cannot start is not waited for for ever."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from infra.kube import Cluster
from infra.runs import follow as following
from infra.runs.start import Snapshot, Verdict

JOBSET = {"metadata": {"name": "first-1", "namespace": "team-a"}}


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def followed(monkeypatch: pytest.MonkeyPatch, verdicts: Iterator[str]) -> tuple[Verdict, float]:
    time = Time()
    monkeypatch.setattr(following, "observe", lambda *_: Snapshot(JOBSET, None, [], []))
    monkeypatch.setattr(following, "judge", lambda seen: Verdict(next(verdicts)))
    verdict = following.follow(
        cast(Cluster, None),
        cast(dict[str, Any], JOBSET),
        clock=time.clock,
        pause=time.pause,
        log=lambda _: None,
    )
    return verdict, time.now


def test_it_ends_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, _ = followed(monkeypatch, iter(["queued", "running", "stuck", "running", "finished"]))
    assert verdict.state == "finished"


def test_a_run_that_stays_stuck_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(["running", *["stuck"] * 50, "running", *["stuck"] * 1000])
    verdict, seconds = followed(monkeypatch, states)
    assert verdict.state == "stuck"
    assert seconds >= 50 * following.POLL_SECONDS + following.STUCK_SECONDS
