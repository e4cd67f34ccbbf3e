"""What a host must offer before anything is changed on it; every problem at once, each with its cure."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from infra import versions
from infra.bootstrap import cgroups, packages
from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.system_images import KUBERNETES
from infra.errors import TrainyardError
from toolchain import tools

GIB = 1 << 30
MINIMUM_DISK_GIB = 5
MINIMUM_MEMORY_GIB = 3.5
NODE_PORTS = (2379, 2380, 6443, 10250, 10256)
LOOPBACK_PORTS = (2381, 10248, 10249, 10257, 10259)
CONTROLLERS = frozenset({"cpu", "cpuset", "memory", "pids"})
LISTENING = "0A"
LEGACY_TABLES = Path("/proc/net/ip_tables_names")
TOOLS = ("kubeadm", "kubelet", "kubectl", "etcd", "coredns", *KUBERNETES)


def require_root() -> None:
    """Raises TrainyardError unless this process is root."""
    if os.geteuid() != 0:
        raise TrainyardError(
            "the embedded cluster needs root: it makes network interfaces, mounts and control groups",
            next_step="run the command again with sudo",
        )


def check(host: Host, plan: Plan) -> None:
    """Raises one TrainyardError that lists all problems of the host."""
    checks: tuple[Callable[[Host, Plan], list[str]], ...] = (
        tool_problems,
        package_problems,
        runtime_problems,
        port_problems,
        disk_problems,
        memory_problems,
        kernel_problems,
        forwarding_problems,
    )
    problems = [problem for one in checks for problem in one(host, plan)]
    if problems:
        raise TrainyardError(
            "\n  - ".join(["this machine is not ready for a cluster:", *problems]),
            next_step="correct them and run the command again",
        )


def tool_problems(host: Host, plan: Plan) -> list[str]:
    """Kubernetes programs that are neither installed nor built."""
    missing = [name for name in TOOLS if tools.inspect(name).path is None]
    return (
        [f"missing tools ({', '.join(missing)}); build them with: {tools.BUILD_COMMAND}"] if missing else []
    )


def package_problems(host: Host, plan: Plan) -> list[str]:
    """Missing distribution packages."""
    names = packages.missing(host, packages.NODE)
    cure = f"{packages.install_line(names)} (or use --install-packages)"
    return [f"missing packages; install them with: {cure}"] if names else []


def runtime_problems(host: Host, plan: Plan) -> list[str]:
    """A containerd older than what the kubelet works with."""
    if host.find("containerd") is None:
        return []
    found = re.search(r"\b(\d+)\.(\d+)\.(\d+)", host.run(["containerd", "--version"]).output)
    minimum = tuple(int(part) for part in versions.CONTAINERD_MINIMUM.split("."))
    if found and tuple(int(part) for part in found.groups()) >= minimum:
        return []
    said = f"containerd {versions.CONTAINERD_MINIMUM} or newer is needed, found {found and found.group(0)}"
    return [f"{said}; update it with: {packages.install_line(['containerd'])}"]


def port_problems(host: Host, plan: Plan) -> list[str]:
    """Ports of the control plane that another program holds."""
    taken = {(address, port) for name in ("tcp", "tcp6") for address, port in _listeners(host, name)}
    everywhere = {"0.0.0.0", "::"}
    wanted = {(plan.node.address, port) for port in NODE_PORTS} | {
        ("127.0.0.1", port) for port in LOOPBACK_PORTS
    }
    busy = sorted(port for address, port in wanted if taken & {(one, port) for one in {address, *everywhere}})
    return [f"port {port} is taken; see what holds it with: ss -ltnp sport = :{port}" for port in busy]


def disk_problems(host: Host, plan: Plan) -> list[str]:
    """Too little room where images and results go."""
    free = free_bytes(host, plan.directories.state)
    if free >= MINIMUM_DISK_GIB * GIB:
        return []
    return [f"{plan.directories.state} has {free / GIB:.1f} GiB free, {MINIMUM_DISK_GIB} GiB are needed"]


def free_bytes(host: Host, path: Path) -> int:
    """Bytes that are free on the filesystem of a path, or of its nearest parent that exists."""
    while not host.exists(path):
        path = path.parent
    return int(host.run(["df", "--block-size=1", "--output=avail", path]).output.split()[-1])


def memory_problems(host: Host, plan: Plan) -> list[str]:
    """Too little memory for control plane and one small run."""
    total = int(host.read(Path("/proc/meminfo")).split()[1]) * 1024
    if total >= MINIMUM_MEMORY_GIB * GIB:
        return []
    return [f"the machine has {total / GIB:.1f} GiB of memory, {MINIMUM_MEMORY_GIB} GiB are needed"]


def kernel_problems(host: Host, plan: Plan) -> list[str]:
    """Kernel features that containers and services need."""
    problems = []
    lacking = CONTROLLERS - _controllers(host)
    if lacking:
        problems.append(
            f"control group controllers not available: {', '.join(sorted(lacking))}; mount or enable them"
        )
    if not _has_overlay(host):
        problems.append("the kernel has no overlay filesystem; load it with: modprobe overlay")
    if host.find("nft") and host.run(["nft", "list", "tables"], check=False).code != 0:
        problems.append("the kernel has no nf_tables, which services need; load it with: modprobe nf_tables")
    return problems


def forwarding_problems(host: Host, plan: Plan) -> list[str]:
    """Packet filters that drop forwarded packets, as Docker sets them, without an exception for pods."""
    problems = []
    for program in _packet_filters(host):
        rules = host.run([program, "--list-rules", "FORWARD"], check=False).output.splitlines()
        ways = [f"{option} {plan.networks.pod_bridge}" for option in ("-i", "-o")]
        closed = [way for way in ways if f"-A FORWARD {way} -j ACCEPT" not in rules]
        if "-P FORWARD DROP" in rules and closed:
            cure = " && ".join(f"{program} --insert FORWARD {way} --jump ACCEPT" for way in closed)
            problems.append(
                "the packet filter drops what is forwarded (policy of FORWARD), so pods would reach nothing;"
                f" accept theirs with: {cure}"
            )
    return problems


def parse_listeners(table: str) -> set[tuple[str, int]]:
    """Addresses and ports in LISTEN state of a /proc/net/tcp or tcp6 table."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return {_parse_endpoint(row[1]) for row in rows if row[3] == LISTENING}


def _parse_endpoint(text: str) -> tuple[str, int]:
    address, _, port = text.partition(":")
    if len(address) == 8:
        return ".".join(str(byte) for byte in bytes.fromhex(address)[::-1]), int(port, 16)
    mapped = address[:24] == "0000000000000000FFFF0000"
    if mapped:
        return _parse_endpoint(f"{address[24:]}:{port}")
    return "::" if not int(address, 16) else address, int(port, 16)


def _listeners(host: Host, name: str) -> set[tuple[str, int]]:
    table = Path(f"/proc/net/{name}")
    return parse_listeners(host.read(table)) if host.exists(table) else set()


def _controllers(host: Host) -> set[str]:
    found: set[str] = set()
    for mount in cgroups.hierarchies(host):
        listing = mount.point / "cgroup.controllers"
        found.update(host.read(listing).split() if host.exists(listing) else mount.options)
    return found


def _packet_filters(host: Host) -> list[str]:
    """Forms of iptables that have a FORWARD chain; asking one that has none would make it."""
    chain = ["nft", "list", "chain", "ip", "filter", "FORWARD"]
    legacy = host.read(LEGACY_TABLES).split() if host.exists(LEGACY_TABLES) else []
    present = {
        "iptables-nft": host.run(chain, check=False).code == 0,
        "iptables-legacy": "filter" in legacy,
    }
    return [program for program, there in present.items() if there and host.find(program)]


def _has_overlay(host: Host) -> bool:
    if "overlay" in host.read(Path("/proc/filesystems")).split():
        return True
    return host.run(["modprobe", "overlay"], check=False).code == 0
