"""Node checks on a node that is made up: each passes on what was declared, and fails on what was not."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infra import versions
from infra.bootstrap.plan import POD_USER, Plan
from infra.bootstrap.system_images import KUBERNETES
from infra.verify import network, runtime, storage
from infra.verify.catalog import CHECKS, title
from infra.verify.finding import Check, Declared

DATES = "notBefore=Dec  1 10:00:00 2026 GMT\nnotAfter=Dec  1 10:00:00 2027 GMT\n"
NOON = "1796126400"  # 2026-12-01 12:00 UTC


@dataclass
class Result:
    stdout: str = ""
    rc: int = 0
    stderr: str = ""


@dataclass
class File:
    exists: bool = True
    is_directory: bool = True
    uid: int = 0
    mode: int = 0o755
    content_string: str = ""


@dataclass
class Interface:
    exists: bool = True
    addresses: list[str] = field(default_factory=list)


@dataclass
class Socket:
    is_listening: bool


@dataclass
class FakeNode:
    """Answers commands by a word that they contain; all is as it should be until a test changes it."""

    answers: dict[str, Result]
    files: dict[str, File] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    sockets: dict[str, bool] = field(default_factory=dict)
    forward: int = 1

    def run(self, command: str, *args: object) -> Result:
        text = command % args if args else command
        return next((result for word, result in self.answers.items() if word in text), Result(rc=127))

    def file(self, path: str) -> File:
        return self.files.get(path, File(exists=False, is_directory=False))

    def interface(self, name: str) -> Interface:
        return self.interfaces.get(name, Interface(exists=False))

    def socket(self, specification: str) -> Socket:
        return Socket(self.sockets.get(specification, False))

    def sysctl(self, name: str) -> int:
        return self.forward


@pytest.fixture
def declared(plan: Plan) -> Declared:
    return Declared(plan, Path("/tools/kubectl"))


@pytest.fixture
def node(plan: Plan) -> FakeNode:
    directories = plan.directories
    names = [*(f"{name}:{versions.KUBERNETES}" for name in KUBERNETES)]
    names += [f"etcd:{versions.ETCD}", f"coredns:{versions.COREDNS}"]
    containers = "".join(f"id localhost/k8s/{name} runc\n" for name in names)
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": versions.KUBERNETES},
    }
    return FakeNode(
        answers={
            "containers list": Result(f"CONTAINER IMAGE RUNTIME\n{containers}"),
            "ctr": Result("Client:\n  Version:  1.7.0\nServer:\n  Version:  1.6.20~ds1\n"),
            "/proc/12/exe": Result(f"Kubernetes {versions.KUBERNETES}\n"),
            "healthz": Result("HTTP/1.0 200 OK\n\nok"),
            "kubectl": Result(json.dumps({"status": status})),
            "ss ": Result('LISTEN 0 128 10.87.0.1:6443 0.0.0.0:* users:(("kube-apiserver",pid=1,fd=3))\n'),
            "nft": Result("10.87.128.1 . tcp . 443 : goto service-AB\n"),
            "/dev/tcp/10.87.128.10/53": Result(),
            "findmnt": Result("/ ext4 rw,relatime\n"),
            "df ": Result(f"Avail\n{100 << 30}\n"),
            "openssl": Result(DATES),
            "date +": Result(f"{NOON}\n"),
            "timedatectl": Result("NTP=yes\nNTPSynchronized=yes\n"),
        },
        files={
            str(directories.run / "kubelet.pid"): File(content_string="12 77\n"),
            **{f"/sys/fs/cgroup/{one}/trainyard/kubepods": File() for one in ("cpu", "memory", "pids")},
            **{str(directories.state / one): File() for one in ("vault", "vault/data", "site")},
            **{
                str(directories.state / one): File(uid=POD_USER, mode=0o750)
                for one in ("vault/checkpoints", "vault/records", "site/output", "site/cache")
            },
        },
        interfaces={"trainyard0": Interface(addresses=["10.87.0.1"]), "trainyard-pods": Interface()},
        sockets={"tcp://10.87.0.1:6443": True},
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_node_as_declared_passes(check: Check, node: FakeNode, declared: Declared) -> None:
    finding = check(node, declared)
    assert finding.passed, finding.found
    assert finding.found


def test_there_are_at_least_ten_checks_and_each_says_what_it_checks() -> None:
    assert len({title(check) for check in CHECKS}) == len(CHECKS) >= 10


BROKEN: list[tuple[Check, str, Result]] = [
    (runtime.container_runtime, "ctr", Result("Server:\n  Version:  1.4.13\n")),
    (runtime.container_runtime, "ctr", Result(rc=1, stderr="connection refused")),
    (runtime.kubelet_version, "/proc/12/exe", Result("Kubernetes v1.30.0\n")),
    (runtime.kubelet_health, "healthz", Result("HTTP/1.0 500 Internal Server Error\n")),
    (runtime.control_plane_images, "containers list", Result("CONTAINER IMAGE RUNTIME\n")),
    (runtime.node_ready, "kubectl", Result(rc=1, stderr="no such host")),
    (network.no_open_ports, "ss ", Result('LISTEN 0 128 *:10250 *:* users:(("kubelet",pid=1,fd=3))\n')),
    (network.packet_filter, "nft", Result(rc=1, stderr="No such file or directory")),
    (network.packet_filter, "nft", Result("map service-ips {}")),
    (network.service_routing, "/dev/tcp", Result(rc=124)),
    (storage.state_mount, "findmnt", Result("/ ext4 ro,relatime\n")),
    (storage.disk_free, "df ", Result(f"Avail\n{1 << 30}\n")),
    (storage.clock, "date +", Result("1000000000\n")),
    (storage.clock, "timedatectl", Result("NTP=yes\nNTPSynchronized=no\n")),
    (storage.clock, "openssl", Result(rc=1)),
    (storage.certificates, "date +", Result("1827500000\n")),
]


@pytest.mark.parametrize(("check", "word", "result"), BROKEN)
def test_a_broken_node_fails(
    check: Check, word: str, result: Result, node: FakeNode, declared: Declared
) -> None:
    node.answers[word] = result
    if word == "/dev/tcp":
        node.answers = {word: result}
    finding = check(node, declared)
    assert not finding.passed
    assert finding.found


def test_a_node_that_is_not_ready_fails(node: FakeNode, declared: Declared) -> None:
    status = json.loads(node.answers["kubectl"].stdout)
    status["status"]["conditions"][0]["status"] = "False"
    node.answers["kubectl"] = Result(json.dumps(status))
    assert not runtime.node_ready(node, declared).passed


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("vault/checkpoints", File(uid=0, mode=0o750)),
        ("vault/checkpoints", File(uid=POD_USER, mode=0o777)),
        ("vault/records", File(exists=False, is_directory=False)),
    ],
)
def test_a_volume_of_another_owner_or_mode_fails(
    name: str, wrong: File, node: FakeNode, declared: Declared
) -> None:
    node.files[str(declared.plan.directories.state / name)] = wrong
    finding = storage.writable_volumes(node, declared)
    assert not finding.passed
    assert name in finding.found


def test_data_that_pods_could_write_fails(node: FakeNode, declared: Declared) -> None:
    node.files[str(declared.plan.directories.state / "vault/data")] = File(uid=POD_USER)
    assert not storage.read_only_volumes(node, declared).passed


def test_missing_network_parts_fail(node: FakeNode, declared: Declared) -> None:
    node.sockets, node.forward = {}, 0
    node.interfaces.pop("trainyard-pods")
    for check in (network.api_server_port, network.forwarding, network.addresses):
        assert not check(node, declared).passed


def test_the_packet_filter_is_asked_also_where_path_lacks_it(node: FakeNode, declared: Declared) -> None:
    node.answers = {"PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin nft": node.answers["nft"]}
    assert network.packet_filter(node, declared).passed


def test_missing_control_groups_fail(node: FakeNode, declared: Declared) -> None:
    node.files.pop("/sys/fs/cgroup/pids/trainyard/kubepods")
    assert not runtime.control_groups(node, declared).passed


def test_control_groups_of_version_two_are_read_from_their_own_list(
    node: FakeNode, declared: Declared
) -> None:
    group = "/sys/fs/cgroup/trainyard/kubepods"
    node.files = {group: File(), f"{group}/cgroup.controllers": File(content_string="cpu memory pids\n")}
    assert runtime.control_groups(node, declared).passed


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('LISTEN 0 128 0.0.0.0:10250 0.0.0.0:* users:(("kubelet",pid=1,fd=3))', ["10250 kubelet"]),
        ('LISTEN 0 128 [::]:2379 [::]:* users:(("etcd",pid=1,fd=3))', ["2379 etcd"]),
        ('LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=1,fd=3))', []),
        ('LISTEN 0 128 127.0.0.1:10248 0.0.0.0:* users:(("kubelet",pid=1,fd=3))', []),
        ("LISTEN 0 128 0.0.0.0:111 0.0.0.0:*", []),
    ],
)
def test_open_ports_are_those_of_the_cluster(line: str, found: list[str]) -> None:
    assert network.open_ports(line + "\n") == found


def test_a_node_without_time_service_is_told_apart(node: FakeNode, declared: Declared) -> None:
    node.answers["timedatectl"] = Result(rc=1)
    finding: Any = storage.clock(node, declared)
    assert finding.passed
    assert "no time service" in finding.found
