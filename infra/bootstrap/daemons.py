"""Daemons without an init system: a process id file each, proof against reused ids, a log each."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path

from infra.bootstrap import cgroups
from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError

STOP_SECONDS = 10.0
POLL_SECONDS = 0.05


def start(host: Host, plan: Plan, *, name: str, command: Sequence[str | Path]) -> None:
    """Start a daemon unless it runs; its log is `<logs>/<name>.log`."""
    if running(host, plan, name=name):
        return
    pid = host.spawn(command, log=log_file(plan, name))
    cgroups.adopt(host, plan, pid=pid)
    host.write(_pid_file(plan, name), f"{pid} {_start_time(host, pid)}\n")


def running(host: Host, plan: Plan, *, name: str) -> bool:
    """Whether the daemon lives: the process that the file names, not another one that got its id."""
    return process_id(host, plan, name=name) is not None


def process_id(host: Host, plan: Plan, *, name: str) -> int | None:
    """The living daemon's process id."""
    if not host.exists(_pid_file(plan, name)):
        return None
    pid, _, start_time = host.read(_pid_file(plan, name)).strip().partition(" ")
    return int(pid) if start_time and _start_time(host, int(pid)) == start_time else None


def stop(host: Host, plan: Plan, *, name: str) -> None:
    """Ask the daemon to end, force it after `STOP_SECONDS`; one that is not running is fine."""
    pid = process_id(host, plan, name=name)
    if pid is not None:
        host.signal(pid, signal.SIGTERM)
        if not _ended(host, plan, name=name):
            host.signal(pid, signal.SIGKILL)
            _ended(host, plan, name=name)
    host.remove(_pid_file(plan, name))


def died(host: Host, plan: Plan, *, name: str) -> TrainyardError:
    """The error for a daemon that ended by itself, with the last lines of its log."""
    log = log_file(plan, name)
    lines = host.read(log).splitlines()[-8:] if host.exists(log) else []
    return TrainyardError(
        "\n    ".join([f"{name} ended right after its start", *lines]), next_step=f"read {log}"
    )


def log_file(plan: Plan, name: str) -> Path:
    """Where a daemon's output goes."""
    return plan.directories.logs / f"{name}.log"


def _pid_file(plan: Plan, name: str) -> Path:
    return plan.directories.run / f"{name}.pid"


def _ended(host: Host, plan: Plan, *, name: str) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        pid = process_id(host, plan, name=name)
        if pid is None:
            return True
        host.signal(pid, 0)
        time.sleep(POLL_SECONDS)
    return False


def _start_time(host: Host, pid: int) -> str:
    """Clock ticks from boot to the start of a process, empty when it is gone or a zombie (proc(5), stat)."""
    stat = Path(f"/proc/{pid}/stat")
    if not host.exists(stat):
        return ""
    fields = host.read(stat).rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
