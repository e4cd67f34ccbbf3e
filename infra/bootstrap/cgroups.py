"""Control groups: one parent for all that the cluster runs, in every hierarchy that the kernel mounts."""

import contextlib
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.mounts import Mount, mounts
from infra.bootstrap.plan import Plan

DAEMONS = "daemons"


def ensure(host: Host, plan: Plan) -> None:
    """Make the cluster's parent group everywhere, and the group that daemons and their children stay in."""
    for hierarchy in hierarchies(host):
        _make(host, hierarchy.point / plan.cgroup)
    _make(host, daemon_group(host, plan))


def adopt(host: Host, plan: Plan, *, pid: int) -> None:
    """Move a daemon into the cluster's group; its children are born there, so that none can be lost."""
    host.append(daemon_group(host, plan) / "cgroup.procs", f"{pid}\n")


def daemon_group(host: Host, plan: Plan) -> Path:
    """Directory of the daemons' group in the hierarchy that is used for finding processes."""
    return _tracking(host).point / plan.cgroup / DAEMONS


def processes(host: Host, plan: Plan) -> list[int]:
    """Process ids of daemons, container shims and containers, from the groups' own lists."""
    found: set[int] = set()
    for group in _groups(host, _tracking(host).point / plan.cgroup):
        found.update(_members(host, group))
    return sorted(found)


def directories(host: Host, plan: Plan) -> list[Path]:
    """All groups of the cluster, children before their parents."""
    found = [group for one in hierarchies(host) for group in _groups(host, one.point / plan.cgroup)]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def hierarchies(host: Host) -> list[Mount]:
    """Mounted hierarchies: one with cgroup v2, one a controller with v1."""
    return [mount for mount in mounts(host) if mount.filesystem in ("cgroup", "cgroup2")]


def _members(host: Host, group: Path) -> list[int]:
    try:
        return [int(line) for line in host.read(group / "cgroup.procs").split()]
    except OSError:
        return []  # the group went while it was looked at


def _tracking(host: Host) -> Mount:
    found = hierarchies(host)
    return next((one for one in found if "pids" in one.options), found[0])


def _make(host: Host, group: Path) -> None:
    if host.exists(group):
        return
    _enable_controllers(host, group.parent)
    host.make_directory(group)
    for name in ("cpuset.cpus", "cpuset.mems"):
        inherited = group.parent / name
        if host.exists(inherited):
            host.append(group / name, host.read(inherited))


def _enable_controllers(host: Host, group: Path) -> None:
    listing = group / "cgroup.controllers"
    if not host.exists(listing):
        return  # version 1: a hierarchy is its controller
    for name in host.read(listing).split():
        with contextlib.suppress(OSError):
            host.append(group / "cgroup.subtree_control", f"+{name}")


def _groups(host: Host, top: Path) -> list[Path]:
    if not host.exists(top):
        return []
    children = [entry for entry in host.entries(top) if host.is_directory(entry)]
    return [top, *(group for child in children for group in _groups(host, child))]
