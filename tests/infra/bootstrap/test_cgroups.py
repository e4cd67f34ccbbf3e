"""The cluster's control groups."""

from pathlib import Path
from typing import Any

from infra.bootstrap import cgroups
from infra.bootstrap.plan import Plan

CPUSET = Path("/sys/fs/cgroup/cpuset")
PIDS = Path("/sys/fs/cgroup/pids")


def test_a_group_in_every_hierarchy_may_use_the_processors_of_its_parent(host: Any, plan: Plan) -> None:
    host.write(CPUSET / "cpuset.cpus", "0-3\n")
    host.write(CPUSET / "cpuset.mems", "0\n")
    cgroups.ensure(host, plan)
    assert all(host.exists(one.point / plan.cgroup) for one in cgroups.hierarchies(host))
    assert host.read(CPUSET / plan.cgroup / "cpuset.cpus") == "0-3\n"


def test_processes_of_all_pods_are_found(host: Any, plan: Plan) -> None:
    cgroups.ensure(host, plan)
    host.write(PIDS / plan.cgroup / "cgroup.procs", "")
    host.write(PIDS / plan.cgroup / "daemons" / "cgroup.procs", "10\n11\n")
    host.write(PIDS / plan.cgroup / "kubepods" / "cgroup.procs", "")
    host.write(PIDS / plan.cgroup / "kubepods" / "pod1" / "cgroup.procs", "12\n")
    assert cgroups.processes(host, plan) == [10, 11, 12]


def test_groups_are_listed_children_first(host: Any, plan: Plan) -> None:
    host.make_directory(PIDS / plan.cgroup / "kubepods" / "pod1")
    found = cgroups.directories(host, plan)
    assert [path.name for path in found] == ["pod1", "kubepods", plan.cgroup]


def test_on_version_two_children_may_use_the_controllers_that_there_are(host: Any, plan: Plan) -> None:
    top = Path("/sys/fs/cgroup")
    host.write(Path("/proc/self/mountinfo"), f"30 1 0:30 / {top} rw - cgroup2 cgroup2 rw\n")
    host.write(top / "cgroup.controllers", "cpu memory\n")
    written: list[tuple[Path, str]] = []
    host.append = lambda path, text: written.append((path, text))
    cgroups.ensure(host, plan)
    assert written == [(top / "cgroup.subtree_control", "+cpu"), (top / "cgroup.subtree_control", "+memory")]


def test_on_version_two_the_the_one_hierarchy_is_used(host: Any, plan: Plan) -> None:
    host.write(Path("/proc/self/mountinfo"), "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    assert cgroups.daemon_group(host, plan) == Path("/sys/fs/cgroup/trainyard/daemons")
