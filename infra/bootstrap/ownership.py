"""One embedded cluster a machine: which state directory it belongs to, and one command at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError

LOCK = Path("/run/lock/trainyard")


@contextmanager
def exclusive(progress: Progress, *, lock: Path = LOCK) -> Iterator[None]:
    """Hold the machine's lock; says so when another command has it, and waits."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another command works on the cluster; waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def check(host: Host, plan: Plan) -> None:
    """Raises TrainyardError where the machine's Kubernetes is not this state directory's."""
    other = owner(host, plan)
    if other is None and foreign(host, plan):
        raise TrainyardError(
            f"this machine is in a Kubernetes cluster that Trainyard did not make ({foreign(host, plan)})",
            next_step="use that cluster through its kubeconfig, or another machine for the embedded one",
        )
    if other is not None and other != plan.directories.state:
        raise TrainyardError(
            f"this machine's embedded cluster belongs to {other}, not to {plan.directories.state}",
            next_step=f"TRAINYARD_STATE={other} trainyard cluster down",
        )


def claim(host: Host, plan: Plan) -> None:
    """Mark the machine as used by this state directory, before anything else is changed."""
    host.write(plan.directories.owner, f"{plan.directories.state}\n")


def owner(host: Host, plan: Plan) -> Path | None:
    """The state directory that the machine's embedded cluster belongs to; one that is gone owns nothing."""
    if not host.exists(plan.directories.owner):
        return None
    state = Path(host.read(plan.directories.owner).strip())
    return state if host.exists(state) else plan.directories.state


def foreign(host: Host, plan: Plan) -> Path | None:
    """A file that another installation of Kubernetes left, where there is no mark of ours."""
    marks = (plan.directories.kubernetes / "manifests", plan.directories.kubelet / "config.yaml")
    if host.exists(plan.directories.owner):
        return None
    return next((mark for mark in marks if host.exists(mark)), None)
