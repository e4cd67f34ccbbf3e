"""Whether a cluster works: its daemons, its API, its node, name service and service routing."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra import versions
from infra.bootstrap import daemons, leftovers, runtime
from infra.bootstrap.control_plane import KUBELET
from infra.bootstrap.host import Completed, Host
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError
from toolchain import tools

READY_SECONDS = 180.0
POLL_SECONDS = 0.25
DNS_PORT = 53


@dataclass(frozen=True)
class Part:
    """One part of the cluster, whether it works, and what there is to say about it."""

    name: str
    healthy: bool
    detail: str


def parts(host: Host, plan: Plan) -> list[Part]:
    """The state of every part, as far as it can be seen."""
    found = [_daemon(host, plan, runtime.NAME), _daemon(host, plan, KUBELET)]
    if not host.exists(plan.directories.kubeconfig):
        return [*found, Part("API server", False, "no cluster")]
    listing = kubectl(
        host, plan, "get", "nodes,daemonsets,deployments", "--all-namespaces", "--output=json", check=False
    )
    if listing.code != 0:
        return [*found, Part("API server", False, "no answer")]
    api = Part("API server", True, f"https://{plan.node.address}:{plan.api_port}")
    routing = Part("service routing", *_routing(host, plan))
    return [*found, api, *from_objects(json.loads(listing.output)["items"], plan), routing]


def from_objects(objects: Sequence[Mapping[str, Any]], plan: Plan) -> list[Part]:
    """Node, service routing and name service, from what the API server says about them."""
    named = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    node = named.get(("Node", plan.node.name), {})
    proxy = named.get(("DaemonSet", "kube-proxy"), {}).get("status", {})
    dns = named.get(("Deployment", "coredns"), {}).get("status", {})
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    return [
        Part(f"node {plan.node.name}", conditions.get("Ready") == "True", versions.KUBERNETES),
        Part("kube-proxy", proxy.get("numberReady", 0) > 0, "nftables"),
        Part("CoreDNS", dns.get("readyReplicas", 0) > 0, versions.COREDNS),
    ]


def is_up(host: Host, plan: Plan) -> bool:
    """Whether every part works."""
    return host.exists(plan.directories.initialised) and all(part.healthy for part in parts(host, plan))


def wait(host: Host, plan: Plan) -> None:
    """Return when every part works; raises TrainyardError naming those that do not after `READY_SECONDS`."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        found = parts(host, plan)
        if all(part.healthy for part in found):
            return
        if time.monotonic() > deadline:
            broken = ", ".join(f"{part.name} ({part.detail})" for part in found if not part.healthy)
            raise TrainyardError(
                f"the cluster did not become ready within {READY_SECONDS:.0f} s: {broken}",
                next_step=f"look into {plan.directories.logs}, then trainyard cluster down and up again",
            )
        time.sleep(POLL_SECONDS)


def kubectl(host: Host, plan: Plan, *args: str, check: bool = True) -> Completed:
    """Run kubectl as the cluster's administrator."""
    kubeconfig = f"--kubeconfig={plan.directories.kubeconfig}"
    return host.run([tools.find("kubectl"), kubeconfig, "--request-timeout=5s", *args], check=check)


def _routing(host: Host, plan: Plan) -> tuple[bool, str]:
    """Through the packet filter to a pod: what the API server says of pods may be older than a reboot."""
    address = plan.networks.dns_address
    try:
        reached = bool(leftovers.tables(host, plan)) and host.connects(address, DNS_PORT)
    except TrainyardError as error:
        return False, error.message
    return reached, f"{address} {'answers' if reached else 'does not answer'}"


def _daemon(host: Host, plan: Plan, name: str) -> Part:
    pid = daemons.process_id(host, plan, name=name)
    return Part(name, pid is not None, f"process {pid}" if pid else "not running")
