"""Taking a cluster away: what it started ends, what it made goes; vault and image store stay."""

import signal
import time
from pathlib import Path

from infra.bootstrap import cgroups, daemons, leftovers, network, runtime
from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError

KILL_SECONDS = 20.0
UNIX_SOCKETS = Path("/proc/net/unix")


def remove_cluster(host: Host, plan: Plan) -> None:
    """Remove all of the cluster, from whatever half-made or broken state it is in; nothing there is fine."""
    end_processes(host, plan)
    unmount(host, plan)
    for name in leftovers.interfaces(host, plan):
        host.run(["ip", "link", "delete", name], check=False)
    for table in leftovers.tables(host, plan):
        host.run(["nft", "delete", "table", *table.split()])
    for group in cgroups.directories(host, plan):
        host.remove_empty(group)
    network.restore_sysctls(host, plan)
    remove_files(host, plan)


def end_processes(host: Host, plan: Plan) -> None:
    """Stop the kubelet, then all containers, then containerd; then force whatever of them is left."""
    started = leftovers.processes(host, plan)
    daemons.stop(host, plan, name="kubelet")
    if daemons.running(host, plan, name=runtime.NAME) and runtime.answers(host, plan):
        runtime.remove_containers(host, plan)
    daemons.stop(host, plan, name=runtime.NAME)
    deadline = time.monotonic() + KILL_SECONDS
    while alive := leftovers.processes(host, plan):
        if time.monotonic() > deadline:
            raise TrainyardError(
                f"these processes of the cluster do not end: {', '.join(map(str, alive))}",
                next_step="look at them with ps, then run the command again",
            )
        for pid in alive:
            host.signal(pid, signal.SIGKILL)
        time.sleep(daemons.POLL_SECONDS)
    _wait_until_reaped(host, started, deadline=deadline)


def _wait_until_reaped(host: Host, pids: list[int], *, deadline: float) -> None:
    while any(host.exists(Path(f"/proc/{pid}")) for pid in pids) and time.monotonic() < deadline:
        for pid in pids:
            host.signal(pid, 0)
        time.sleep(daemons.POLL_SECONDS)


def unmount(host: Host, plan: Plan) -> None:
    """Unmount pods' volumes, containers' roots and pinned namespaces, innermost first."""
    for mount in leftovers.cluster_mounts(host, plan):
        host.run(["umount", "--lazy", mount.point], check=False)


def remove_files(host: Host, plan: Plan) -> None:
    """Remove configuration, state and links; the mark of ownership goes last of all."""
    directories = plan.directories
    for path in [*leftovers.files(host, plan), *dead_sockets(host, directories.shim_sockets)]:
        host.remove(path)
    for empty in (
        directories.kubelet_plugins,
        directories.container_links,
        directories.cni_results,
        directories.shim_sockets,
    ):
        remove_empty_chain(host, empty)


def dead_sockets(host: Host, directory: Path) -> list[Path]:
    """Sockets that nobody listens on any more, as shims leave them that were ended by force."""
    table = host.read(UNIX_SOCKETS) if host.exists(UNIX_SOCKETS) else ""
    alive = {line.split()[-1] for line in table.splitlines()}
    return [path for path in host.entries(directory) if str(path) not in alive]


def remove_empty_chain(host: Host, path: Path, *, levels: int = 4) -> None:
    """Remove an empty directory, and its parents as long as they are empty too."""
    for directory in (path, *path.parents)[:levels]:
        if host.entries(directory) or not host.exists(directory):
            return
        host.remove_empty(directory)
