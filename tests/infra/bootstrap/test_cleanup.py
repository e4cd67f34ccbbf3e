"""Taking a cluster away, on a machine that only writes down what it is told."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import cgroups, cleanup, daemons, leftovers, network, ownership
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError

LINKS = [
    {"ifname": "eth0"},
    {"ifname": "trainyard0"},
    {"ifname": "trainyard-pods"},
    {"ifname": "veth1", "master": "trainyard-pods"},
    {"ifname": "veth2", "master": "docker0"},
]
TABLES = {
    "nftables": [
        {"metainfo": {}},
        {"table": {"family": "ip", "name": "kube-proxy"}},
        {"table": {"family": "ip", "name": "filter"}},
    ]
}


@pytest.fixture
def running(host: Any, plan: Plan) -> Any:
    """A machine with a cluster in full swing, and things of its own that look similar."""
    directories = plan.directories
    ownership.claim(host, plan)
    cgroups.ensure(host, plan)
    for number, name in enumerate(("containerd", "kubelet"), start=10):
        host.process(number)
        host.write(directories.run / f"{name}.pid", f"{number} 77\n")
    host.write(cgroups.daemon_group(host, plan) / "cgroup.procs", "10\n11\n12\n")
    host.write(cgroups.daemon_group(host, plan).parent / "cgroup.procs", "")
    host.process(12)
    mounts = (
        f"40 1 0:40 / {directories.kubelet}/pods/a rw - tmpfs tmpfs rw\n"
        f"41 1 0:41 / {directories.kubelet}/pods/a/b rw - tmpfs tmpfs rw\n"
        f"42 1 0:4 / {directories.run}/netns/x rw - nsfs nsfs rw\n"
        "43 1 0:43 / /srv rw - ext4 /dev/vdb rw\n"
    )
    host.write(Path("/proc/self/mountinfo"), host.read(Path("/proc/self/mountinfo")) + mounts)
    host.answer("ip", "-json", output=json.dumps(LINKS))
    host.answer("nft", "--json", output=json.dumps(TABLES))
    host.write(network.SYSCTL / "net/ipv4/ip_forward", "0\n")
    network.remember_sysctls(host, plan)
    host.write(network.SYSCTL / "net/ipv4/ip_forward", "1\n")
    for path in (
        directories.cluster / "etcd" / "db",
        directories.kubelet / "config.yaml",
        directories.kubernetes / "admin.conf",
        directories.state / "vault" / "data" / "kept",
        directories.containerd / "kept",
        directories.logs / "kubelet.log",
        directories.cni_results / "trainyard-a-eth0",
        directories.cni_results / "other-b-eth0",
    ):
        host.write(path, "")
    host.on_signal = lambda pid, number: _end(host, plan, pid) if number else None
    return host


def _end(host: Any, plan: Plan, pid: int) -> None:
    host.remove(Path(f"/proc/{pid}"))
    procs = cgroups.daemon_group(host, plan) / "cgroup.procs"
    if host.exists(procs):
        alive = [line for line in host.read(procs).split() if line != str(pid)]
        host.write(procs, "".join(f"{line}\n" for line in alive))


def test_everything_of_the_cluster_is_found_and_nothing_else(running: Any, plan: Plan) -> None:
    found = leftovers.find(running, plan)
    assert found.processes == (10, 11, 12)
    assert found.mounts == (plan.directories.kubelet / "pods/a/b", plan.directories.kubelet / "pods/a")
    assert found.namespaces == (plan.directories.run / "netns/x",)
    assert found.interfaces == ("veth1", "trainyard-pods", "trainyard0")
    assert found.tables == ("ip kube-proxy",)
    assert not found.empty
    assert found.summary().startswith("3 processes, 2 mounts, 1 namespaces, 3 interfaces, 1 tables, ")


def test_daemons_end_politely_and_the_rest_by_force(running: Any, plan: Plan) -> None:
    cleanup.end_processes(running, plan)
    assert [one for one in running.signals if one[1]] == [
        (11, signal.SIGTERM),
        (10, signal.SIGTERM),
        (12, signal.SIGKILL),
    ]


def test_a_process_that_does_not_end_is_an_error(
    running: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "KILL_SECONDS", 0.0)
    monkeypatch.setattr(daemons, "STOP_SECONDS", 0.0)
    running.on_signal = lambda pid, number: None
    with pytest.raises(Exception, match="12"):
        cleanup.end_processes(running, plan)


def test_down_takes_the_cluster_and_leaves_the_rest(running: Any, plan: Plan) -> None:
    directories = plan.directories
    cleanup.remove_cluster(running, plan)
    unmounted = [command[-1] for command in running.ran("umount")]
    assert unmounted == [
        f"{directories.run}/netns/x",
        f"{directories.kubelet}/pods/a/b",
        f"{directories.kubelet}/pods/a",
    ]
    assert [command[-1] for command in running.ran("ip", "delete")] == [
        "veth1",
        "trainyard-pods",
        "trainyard0",
    ]
    assert [command[-2:] for command in running.ran("nft", "delete")] == [["ip", "kube-proxy"]]
    assert running.read(network.SYSCTL / "net/ipv4/ip_forward").strip() == "0"
    for gone in (
        directories.kubernetes,
        directories.kubelet,
        directories.run,
        directories.cluster / "etcd",
        directories.cni_results / "trainyard-a-eth0",
    ):
        assert not running.exists(gone)
    for kept in (
        directories.state / "vault/data/kept",
        directories.containerd / "kept",
        directories.logs / "kubelet.log",
        directories.cni_results / "other-b-eth0",
    ):
        assert running.exists(kept)


def test_a_kubernetes_that_is_not_ours_stays(running: Any, plan: Plan) -> None:
    running.remove(plan.directories.owner)
    cleanup.remove_cluster(running, plan)
    assert running.exists(plan.directories.kubernetes / "admin.conf")
    assert running.exists(plan.directories.kubelet / "config.yaml")


def test_nothing_there_is_nothing_to_do(host: Any, plan: Plan) -> None:
    assert leftovers.find(host, plan).empty
    cleanup.remove_cluster(host, plan)
    assert host.signals == []
    assert [command[0] for command in host.commands if command[0] not in ("ip", "nft")] == []


@pytest.mark.parametrize("words", [("nft", "--json"), ("ip", "-json")], ids=["tables", "interfaces"])
def test_what_cannot_be_listed_is_an_error_and_not_zero(
    host: Any, plan: Plan, words: tuple[str, ...]
) -> None:
    host.answer(*words, code=1, errors="Operation not permitted")
    with pytest.raises(TrainyardError, match="Operation not permitted"):
        leftovers.find(host, plan)


@pytest.mark.parametrize("program", ["/usr/sbin/nft", "/usr/bin/ip"])
def test_a_machine_with_our_mark_needs_the_programs_that_list(host: Any, plan: Plan, program: str) -> None:
    host.remove(Path(program))
    assert leftovers.find(host, plan).empty
    ownership.claim(host, plan)
    with pytest.raises(TrainyardError, match=f"{Path(program).name} is missing") as told:
        leftovers.find(host, plan)
    assert "apt-get install" in told.value.next_step


def test_zeros_are_the_last_word(host: Any, plan: Plan) -> None:
    zeros = "0 processes, 0 mounts, 0 namespaces, 0 interfaces, 0 tables, 0 control groups, 0 files"
    assert leftovers.find(host, plan).summary() == zeros


def test_empty_parents_go_too_but_no_further_than_told(host: Any) -> None:
    host.write(Path("/a/b/other"), "")
    host.make_directory(Path("/a/b/c/d"))
    cleanup.remove_empty_chain(host, Path("/a/b/c/d"))
    assert host.exists(Path("/a/b"))
    assert not host.exists(Path("/a/b/c"))


def test_sockets_that_nobody_listens_on_go(host: Any, plan: Plan) -> None:
    sockets = plan.directories.shim_sockets
    host.write(sockets / "dead", "")
    host.write(sockets / "alive", "")
    host.write(cleanup.UNIX_SOCKETS, f"Num RefCount Path\n0000: 00000002 {sockets}/alive\n")
    cleanup.remove_cluster(host, plan)
    assert host.entries(sockets) == [sockets / "alive"]


def test_links_to_the_clusters_pod_logs_go(host: Any, plan: Plan) -> None:
    links = host.here(plan.directories.container_links)
    links.mkdir(parents=True)
    (links / "ours").symlink_to(plan.directories.logs / "pods" / "x")
    (links / "others").symlink_to("/var/log/pods/y")
    cleanup.remove_cluster(host, plan)
    assert [path.name for path in links.iterdir()] == ["others"]
