"""The embedded cluster for real: up, a pod reaches a Service by name, up again, repair, down to nothing."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from infra.bootstrap import daemons, health, leftovers, lifecycle, network
from infra.bootstrap.host import LocalHost
from infra.bootstrap.plan import Directories, Plan, embedded_plan
from infra.bootstrap.progress import Progress
from infra.images import store
from infra.images.archive import Program
from toolchain import tools

pytestmark = [pytest.mark.full, pytest.mark.cluster]
HOST = LocalHost()
SERVICE = "kubernetes.default.svc.cluster.local"
CLIENT = "localhost/trainyard/test-client:1"
POD_SECONDS = 60


def up(plan: Plan) -> str:
    said = StringIO()
    lifecycle.up(HOST, plan, progress=Progress(stream=said))
    return said.getvalue()


def machine() -> dict[str, object]:
    """What of a cluster can be seen on the machine without knowing how it was made."""
    namespaces = subprocess.run(
        ["lsns", "--noheadings", "--type", "net", "--output", "NS"], capture_output=True, text=True
    )
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {
        "network namespaces": len(namespaces.stdout.split()),
        "mounts": sorted(mounts),
        "interfaces": sorted(network.interfaces(HOST)),
        "tables": HOST.run(["nft", "list", "tables"]).output,
        "forwarding": Path("/proc/sys/net/ipv4/ip_forward").read_text(),
        "shims": [p.name for p in Path("/proc").iterdir() if p.name.isdigit() and _is_shim(p)],
        "kubernetes": Path("/etc/kubernetes").exists() or Path("/var/lib/kubelet").exists(),
    }


def _is_shim(process: Path) -> bool:
    try:
        return b"containerd-shim" in (process / "cmdline").read_bytes()
    except OSError:
        return False


@pytest.fixture(scope="module")
def plan(node_packages: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    root = tmp_path_factory.mktemp("cluster")
    made = Plan(
        node=embedded_plan().node, directories=Directories(state=root / "state", store=root / "store")
    )
    before = machine()
    try:
        yield made
    finally:
        left = lifecycle.down(HOST, made, progress=Progress())
        shutil.rmtree(root)
        assert left.empty, left
        assert machine() == before


@pytest.fixture(scope="module")
def running(plan: Plan) -> Plan:
    up(plan)
    return plan


def kubectl(plan: Plan, *args: str) -> str:
    return health.kubectl(HOST, plan, *args).output


def run_pod(plan: Plan, name: str, *command: str) -> str:
    """Run a command in a pod to its end and return what it printed.

    The client takes its API server from the environment: here the Service's name instead of its address.
    """
    options = [f"--image={CLIENT}", "--restart=Never", "--image-pull-policy=Never"]
    kubectl(
        plan, "run", name, *options, f"--env=KUBERNETES_SERVICE_HOST={SERVICE}", "--command", "--", *command
    )
    phase = ("get", "pod", name, "--output=jsonpath={.status.phase}")
    _until(lambda: kubectl(plan, *phase) in ("Succeeded", "Failed"))
    return kubectl(plan, "logs", name)


def test_the_cluster_comes_up_with_every_part(running: Plan) -> None:
    assert [part.name for part in health.parts(HOST, running) if not part.healthy] == []
    assert Path(running.directories.kubeconfig).stat().st_mode & 0o077 == 0


def test_a_pod_resolves_a_service_and_reaches_it(running: Plan) -> None:
    client = Program(CLIENT, {"/kubectl": tools.find("kubectl")}, ("/kubectl",), user="65532:65532")
    store.ensure_programs(HOST, running, [client])
    said = run_pod(running, "client", "/kubectl", "get", "--raw", "/version")
    assert '"gitVersion": "v1.34' in said


def test_up_again_changes_nothing(running: Plan) -> None:
    before = {name: daemons.process_id(HOST, running, name=name) for name in leftovers.DAEMONS}
    pods = kubectl(running, "get", "pods", "--all-namespaces", "--output=jsonpath={.items[*].metadata.uid}")
    (line,) = up(running).splitlines()
    assert "the cluster is up" in line
    assert {name: daemons.process_id(HOST, running, name=name) for name in leftovers.DAEMONS} == before
    assert (
        kubectl(running, "get", "pods", "--all-namespaces", "--output=jsonpath={.items[*].metadata.uid}")
        == pods
    )


def test_up_repairs_a_cluster_whose_daemons_died(running: Plan) -> None:
    for name in leftovers.DAEMONS:
        pid = daemons.process_id(HOST, running, name=name)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    _until(lambda: not any(daemons.running(HOST, running, name=name) for name in leftovers.DAEMONS))
    assert not health.is_up(HOST, running)
    kubeconfig = running.directories.kubeconfig.read_text()
    up(running)
    assert health.is_up(HOST, running)
    assert running.directories.kubeconfig.read_text() == kubeconfig


def test_another_state_is_told_whose_cluster_this_is(running: Plan, tmp_path: Path) -> None:
    other = Plan(node=running.node, directories=Directories(state=tmp_path, store=tmp_path))
    with pytest.raises(
        Exception, match=f"TRAINYARD_STATE={running.directories.state} trainyard cluster down"
    ):
        up(other)


def test_down_leaves_nothing_but_vault_and_images(running: Plan) -> None:
    kept = running.directories.state / "vault" / "records" / "kept.json"
    kept.write_text("{}")
    left = lifecycle.down(HOST, running, progress=Progress())
    assert left.summary().startswith("0 processes, 0 mounts, 0 namespaces, 0 interfaces")
    assert left.empty
    assert kept.exists()
    assert running.directories.containerd.exists()
    assert not running.directories.kubeconfig.exists()
    assert lifecycle.down(HOST, running, progress=Progress()).empty


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + POD_SECONDS
    while not condition():
        assert time.monotonic() < deadline
