"""The node's own address, forwarding, and the pod network."""

import json
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.templating import render

SYSCTL = Path("/proc/sys")
WANTED = {"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": "1"}
NO_MODULE = "boot a kernel that has the module br_netfilter, and run the command again"
CHANGED_BY_KUBELET = (
    "vm.overcommit_memory",
    "vm.panic_on_oom",
    "kernel.panic",
    "kernel.panic_on_oops",
    "kernel.keys.root_maxkeys",
    "kernel.keys.root_maxbytes",
)


def ensure(host: Host, plan: Plan) -> None:
    """Make the bridge that carries the node's address, forward packets, describe the pod network for CNI."""
    if not host.exists(SYSCTL / "net/bridge"):
        host.run(["modprobe", "br_netfilter"], next_step=NO_MODULE)
    remember_sysctls(host, plan)
    for name, value in WANTED.items():
        host.append(_file(name), value)
    if plan.node.interface not in interfaces(host):
        _add_bridge(host, plan)
    host.write(conf_dir(plan) / "10-trainyard.conflist", render("pod-network.conflist.j2", plan=plan))


def conf_dir(plan: Plan) -> Path:
    """CNI configuration of this cluster only; the host's own /etc/cni stays untouched."""
    return plan.directories.cluster / "cni"


def interfaces(host: Host) -> dict[str, str]:
    """Network interfaces of the host: name -> name of the bridge that it belongs to, or nothing."""
    listing = host.run(["ip", "-json", "link", "show"]).output
    return {link["ifname"]: link.get("master", "") for link in json.loads(listing or "[]")}


def remember_sysctls(host: Host, plan: Plan) -> None:
    """Keep the kernel settings that the cluster changes, once, so that `down` can put them back."""
    if host.exists(_memory(plan)):
        return
    names = [name for name in (*WANTED, *CHANGED_BY_KUBELET) if host.exists(_file(name))]
    host.write(_memory(plan), json.dumps({name: host.read(_file(name)).strip() for name in names}, indent=2))


def restore_sysctls(host: Host, plan: Plan) -> None:
    """Put the kernel settings back as they were before the cluster.

    After a reboot a setting whose module is not loaded is absent: then there is nothing to put back.
    """
    if not host.exists(_memory(plan)):
        return
    for name, value in json.loads(host.read(_memory(plan))).items():
        if host.exists(_file(name)) and host.read(_file(name)).strip() != value:
            host.append(_file(name), value)
    host.remove(_memory(plan))


def _add_bridge(host: Host, plan: Plan) -> None:
    node = plan.node
    host.run(["ip", "link", "add", node.interface, "type", "bridge"])
    host.run(["ip", "address", "add", f"{node.address}/{node.prefix_length}", "dev", node.interface])
    host.run(["ip", "link", "set", node.interface, "up"])


def _file(name: str) -> Path:
    return SYSCTL / name.replace(".", "/")


def _memory(plan: Plan) -> Path:
    return plan.directories.cluster / "sysctls.json"
