"""Checks of addresses, ports, packet filter and service routing."""

from infra.bootstrap.host import SYSTEM_DIRECTORIES
from infra.bootstrap.leftovers import NFT_TABLE
from infra.verify.finding import Declared, Finding, Node

OPEN_ADDRESSES = ("0.0.0.0", "*", "[::]")
PROGRAMS = ("containerd", "etcd", "kube-", "kubelet")


def api_server_port(node: Node, declared: Declared) -> Finding:
    """The API server listens on the node's address."""
    endpoint = f"tcp://{declared.plan.node.address}:{declared.plan.api_port}"
    listening = node.socket(endpoint).is_listening
    return Finding(listening, f"{endpoint} {'listens' if listening else 'is closed'}")


def no_open_ports(node: Node, declared: Declared) -> Finding:
    """No part of the cluster listens on all addresses of the machine."""
    answer = node.run("ss -H -l -t -n -p")
    if answer.rc != 0:
        return Finding(False, answer.stderr.strip())
    found = open_ports(answer.stdout)
    return Finding(not found, ", ".join(found) or "none")


def open_ports(listing: str) -> list[str]:
    """Cluster programs that listen everywhere, as `<port> <program>`, from the output of ss(8)."""
    found = []
    for row in (line.split() for line in listing.splitlines()):
        address, _, port = row[3].rpartition(":")
        program = row[5].split('"')[1] if len(row) > 5 else ""
        if address in OPEN_ADDRESSES and program.startswith(PROGRAMS):
            found.append(f"{port} {program}")
    return sorted(found)


def addresses(node: Node, declared: Declared) -> Finding:
    """The bridges of node and pods exist, and the node has its address."""
    own, pods = declared.plan.node, declared.plan.networks.pod_bridge
    found = node.interface(own.interface).addresses if node.interface(own.interface).exists else []
    pods_exist = node.interface(pods).exists
    detail = f"{own.interface}: {', '.join(found) or 'absent'}; {pods}: {'there' if pods_exist else 'absent'}"
    return Finding(own.address in found and pods_exist, detail)


def packet_filter(node: Node, declared: Declared) -> Finding:
    """kube-proxy keeps its service table in nftables."""
    path = ":".join(("$PATH", *SYSTEM_DIRECTORIES))
    answer = node.run(f"PATH={path} nft list map ip %s service-ips", NFT_TABLE)
    count = answer.stdout.count("goto service-")
    return Finding(
        answer.rc == 0 and count > 0, f"{count} services" if count else answer.stderr.strip() or "empty"
    )


def service_routing(node: Node, declared: Declared) -> Finding:
    """A service's address leads to its pod: the name service answers there."""
    address = declared.plan.networks.dns_address
    answer = node.run("timeout 3 bash -c %s", f"exec 3<>/dev/tcp/{address}/53")
    return Finding(answer.rc == 0, f"{address} {'answers' if answer.rc == 0 else 'does not answer'}")


def forwarding(node: Node, declared: Declared) -> Finding:
    """The kernel forwards packets between pods, services and node."""
    value = node.sysctl("net.ipv4.ip_forward")
    return Finding(value == 1, f"net.ipv4.ip_forward={value}")
