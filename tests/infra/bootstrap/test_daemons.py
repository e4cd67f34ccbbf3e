"""Daemons by process id files."""

import signal
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import cgroups, daemons
from infra.bootstrap.plan import Plan


@pytest.fixture
def started(host: Any, plan: Plan) -> int:
    cgroups.ensure(host, plan)
    daemons.start(host, plan, name="kubelet", command=["kubelet"])
    pid = daemons.process_id(host, plan, name="kubelet")
    assert pid is not None
    return pid


def test_a_daemon_is_born_into_the_clusters_group(host: Any, plan: Plan, started: int) -> None:
    assert cgroups.processes(host, plan) == [started]


def test_a_running_daemon_is_not_started_again(host: Any, plan: Plan, started: int) -> None:
    daemons.start(host, plan, name="kubelet", command=["kubelet"])
    assert len(host.spawned) == 1


def test_another_process_with_the_same_id_is_not_the_daemon(host: Any, plan: Plan, started: int) -> None:
    host.process(started, start_time=99)
    assert not daemons.running(host, plan, name="kubelet")


def test_a_zombie_does_not_run(host: Any, plan: Plan, started: int) -> None:
    host.process(started, state="Z")
    assert not daemons.running(host, plan, name="kubelet")


def test_a_reused_id_is_never_signalled(host: Any, plan: Plan, started: int) -> None:
    host.process(started, start_time=99)
    daemons.stop(host, plan, name="kubelet")
    assert host.signals == []


def test_stopping_asks_before_it_forces(
    host: Any, plan: Plan, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemons, "STOP_SECONDS", 0.0)
    daemons.stop(host, plan, name="kubelet")
    assert [number for _, number in host.signals if number] == [signal.SIGTERM, signal.SIGKILL]


def test_a_daemon_that_obeys_is_not_forced(host: Any, plan: Plan, started: int) -> None:
    host.on_signal = lambda pid, number: host.remove(Path(f"/proc/{pid}/stat"))
    daemons.stop(host, plan, name="kubelet")
    assert [number for _, number in host.signals if number] == [signal.SIGTERM]
    assert not daemons.running(host, plan, name="kubelet")


def test_an_early_end_shows_the_log(host: Any, plan: Plan) -> None:
    host.write(daemons.log_file(plan, "containerd"), "level=fatal msg=reason\n")
    assert "reason" in str(daemons.died(host, plan, name="containerd"))
