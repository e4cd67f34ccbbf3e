"""`up` and `down` of a cluster on one host."""

from infra import versions
from infra.bootstrap import (
    cgroups,
    cleanup,
    control_plane,
    directories,
    health,
    leftovers,
    network,
    ownership,
    packages,
    preflight,
    runtime,
    system_images,
)
from infra.bootstrap.host import Host
from infra.bootstrap.leftovers import Leftovers
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.errors import system_errors
from infra.images import store


def up(host: Host, plan: Plan, *, progress: Progress, install_packages: bool = False) -> None:
    """Bring the cluster up from any state: nothing there, half made, stopped by a reboot, running already."""
    preflight.require_root()
    with system_errors(next_step=_again(plan)), ownership.exclusive(progress):
        ownership.check(host, plan)
        if health.is_up(host, plan):
            progress.say(f"the cluster is up: {plan.directories.kubeconfig}")
            return
        _prepare(host, plan, progress=progress, install_packages=install_packages)
        _start(host, plan, progress=progress)


def down(host: Host, plan: Plan, *, progress: Progress) -> Leftovers:
    """Take the cluster away and count what is left; the vault and the image store stay."""
    preflight.require_root()
    with system_errors(next_step=_again(plan)), ownership.exclusive(progress):
        ownership.check(host, plan)
        before = leftovers.find(host, plan)
        if before.empty:
            return before
        progress.say("ending pods and daemons, removing network, mounts and state")
        cleanup.remove_cluster(host, plan)
        return leftovers.find(host, plan)


def _again(plan: Plan) -> str:
    return f"correct it and run the command again; logs are in {plan.directories.logs}"


def _prepare(host: Host, plan: Plan, *, progress: Progress, install_packages: bool) -> None:
    if install_packages:
        packages.install(host, packages.missing(host, packages.NODE), progress=progress)
    resuming = host.exists(plan.directories.initialised)
    if not resuming and not leftovers.find(host, plan).empty:
        if host.exists(plan.directories.owner):
            progress.say("removing what an unfinished start left")
        cleanup.remove_cluster(host, plan)
    if not leftovers.processes(host, plan):
        preflight.check(host, plan)
    if not resuming:
        host.remove(plan.directories.logs)
    ownership.claim(host, plan)
    directories.ensure(host, plan)
    network.ensure(host, plan)
    cgroups.ensure(host, plan)


def _start(host: Host, plan: Plan, *, progress: Progress) -> None:
    progress.say("container runtime")
    runtime.ensure(host, plan)
    fresh = not host.exists(plan.directories.initialised)
    if fresh:
        progress.say("images of the control plane")
        store.ensure_programs(host, plan, system_images.programs(plan))
        runtime.remove_containers(host, plan)
        progress.say("certificates and configuration")
        control_plane.initialise(host, plan)
    progress.say(f"kubelet and control plane {versions.KUBERNETES}")
    control_plane.start_kubelet(host, plan)
    if fresh:
        control_plane.finish(host, plan)
    control_plane.write_kubeconfig(host, plan)
    progress.say("name service and service routing")
    health.wait(host, plan)
    progress.say(f"the cluster is up: {plan.directories.kubeconfig}")
