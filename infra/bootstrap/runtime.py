"""containerd: its own configuration, socket and store beside whatever the host runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra import versions
from infra.bootstrap import cgroups, daemons, network
from infra.bootstrap.host import Completed, Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.templating import render

NAME = "containerd"
NAMESPACE = "k8s.io"
START_SECONDS = 30.0
CAP_SYS_RESOURCE = 24


def ensure(host: Host, plan: Plan) -> None:
    """Start containerd unless it runs, and return when it answers."""
    if daemons.running(host, plan, name=NAME) and answers(host, plan):
        return
    config = plan.directories.cluster / "containerd.toml"
    host.write(config, configuration(plan, restrict_oom_score=not has_capability(host, CAP_SYS_RESOURCE)))
    daemons.start(host, plan, name=NAME, command=[NAME, "--config", config])
    deadline = time.monotonic() + START_SECONDS
    while not answers(host, plan):
        if not daemons.running(host, plan, name=NAME) or time.monotonic() > deadline:
            raise daemons.died(host, plan, name=NAME)
        time.sleep(daemons.POLL_SECONDS)


def configuration(plan: Plan, *, restrict_oom_score: bool) -> str:
    """containerd's configuration file (version 2)."""
    return render(
        "containerd.toml.j2",
        plan=plan,
        versions=versions,
        conf_dir=network.conf_dir(plan),
        restrict_oom_score=restrict_oom_score,
    )


def has_capability(host: Host, number: int) -> bool:
    """Whether this process may use a capability (capabilities(7) gives the numbers)."""
    line = next(
        line for line in host.read(Path("/proc/self/status")).splitlines() if line.startswith("CapEff")
    )
    return bool(int(line.split()[1], 16) >> number & 1)


def answers(host: Host, plan: Plan) -> bool:
    """Whether containerd serves requests."""
    return host.exists(plan.directories.socket) and ctr(host, plan, "version", check=False).code == 0


def ctr(host: Host, plan: Plan, *args: str | Path, check: bool = True) -> Completed:
    """Run containerd's client against this cluster's containerd."""
    return host.run(ctr_command(plan, *args), check=check, next_step=read_log(plan))


def ctr_command(plan: Plan, *args: str | Path) -> list[str | Path]:
    """The command line of containerd's client."""
    return ["ctr", "--address", plan.directories.socket, "--namespace", NAMESPACE, *args]


def read_log(plan: Plan) -> str:
    """The next step after a refusal of containerd."""
    return f"read {daemons.log_file(plan, NAME)}, then run the command again"


def image_names(host: Host, plan: Plan) -> set[str]:
    """References of all images in the store."""
    return set(ctr(host, plan, "images", "list", "--quiet").output.split())


def remove_containers(host: Host, plan: Plan) -> None:
    """End all containers and forget them, so that the store holds images and nothing else."""
    listing = ctr(host, plan, "containers", "list", "--quiet").output.split()
    if listing:
        ctr(host, plan, "tasks", "delete", "--force", *listing, check=False)
        ctr(host, plan, "containers", "delete", *listing, check=False)


@contextmanager
def running(host: Host, plan: Plan) -> Iterator[None]:
    """Have containerd for a while: one that runs is used and left, else one is started and stopped again."""
    if daemons.running(host, plan, name=NAME) and answers(host, plan):
        yield
        return
    cgroups.ensure(host, plan)
    ensure(host, plan)
    try:
        yield
    finally:
        daemons.stop(host, plan, name=NAME)
