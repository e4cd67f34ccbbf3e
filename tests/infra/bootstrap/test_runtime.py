"""containerd of the cluster, found and left as it was."""

from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import cgroups, daemons, runtime
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError


@pytest.fixture
def answering(host: Any, plan: Plan) -> Any:
    cgroups.ensure(host, plan)
    host.write(plan.directories.socket, "")
    host.on_signal = lambda pid, number: host.remove(Path(f"/proc/{pid}")) if number else None
    return host


def test_a_borrowed_runtime_is_stopped_again(answering: Any, plan: Plan) -> None:
    with runtime.running(answering, plan):
        assert daemons.running(answering, plan, name="containerd")
    assert not daemons.running(answering, plan, name="containerd")


def test_a_running_runtime_stays(answering: Any, plan: Plan) -> None:
    runtime.ensure(answering, plan)
    with runtime.running(answering, plan):
        pass
    assert daemons.running(answering, plan, name="containerd")


def test_a_runtime_that_dies_shows_its_log(answering: Any, plan: Plan) -> None:
    answering.answer("ctr", "version", code=1)
    answering.write(daemons.log_file(plan, "containerd"), "no such plugin\n")
    answering.spawn = lambda command, log: 4242
    with pytest.raises(Exception, match="no such plugin"):
        runtime.ensure(answering, plan)


def test_containers_are_ended_before_they_are_forgotten(answering: Any, plan: Plan) -> None:
    answering.answer("ctr", "containers", "list", output="a\nb\n")
    runtime.remove_containers(answering, plan)
    words = [command[5:] for command in answering.ran("ctr") if "list" not in command]
    assert words == [["tasks", "delete", "--force", "a", "b"], ["containers", "delete", "a", "b"]]


@pytest.mark.parametrize(("mask", "there"), [("000001ffffffffff", True), ("000001fffeffffff", False)])
def test_capabilities_are_read_from_the_mask(host: Any, mask: str, there: bool) -> None:
    host.write(Path("/proc/self/status"), f"CapInh:\t0\nCapEff:\t{mask}\n")
    assert runtime.has_capability(host, runtime.CAP_SYS_RESOURCE) is there


def test_a_refusal_of_containerd_points_at_its_log(host: Any, plan: Plan) -> None:
    host.answer("ctr", code=1)
    with pytest.raises(TrainyardError) as told:
        runtime.ctr(host, plan, "version")
    assert "containerd.log" in told.value.next_step
