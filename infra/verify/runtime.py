"""Checks of container runtime, kubelet and control plane against versions.py."""

import json
import re

from infra import versions
from infra.bootstrap.runtime import NAMESPACE
from infra.bootstrap.system_images import KUBERNETES
from infra.verify.finding import Declared, Finding, Node

HEALTHZ = 'exec 3<>/dev/tcp/127.0.0.1/10248; printf "GET /healthz HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3'


def container_runtime(node: Node, declared: Declared) -> Finding:
    """containerd answers and is new enough."""
    answer = node.run("ctr --address %s version", str(declared.plan.directories.socket))
    server = re.search(r"Server:\s+Version:\s+(\d+)\.(\d+)\.(\d+)", answer.stdout)
    if answer.rc != 0 or server is None:
        return Finding(False, answer.stderr.strip() or "no answer")
    found = tuple(int(part) for part in server.groups())
    minimum = tuple(int(part) for part in versions.CONTAINERD_MINIMUM.split("."))
    return Finding(
        found >= minimum, f"{'.'.join(server.groups())}, wanted {versions.CONTAINERD_MINIMUM} or newer"
    )


def kubelet_version(node: Node, declared: Declared) -> Finding:
    """The running kubelet has the declared version."""
    pid = _process_id(node, declared, "kubelet")
    answer = node.run("/proc/%s/exe --version", pid or "0")
    found = answer.stdout.strip().removeprefix("Kubernetes ") or "not running"
    return Finding(found == versions.KUBERNETES, f"{found}, wanted {versions.KUBERNETES}")


def kubelet_health(node: Node, declared: Declared) -> Finding:
    """The kubelet says that it is healthy."""
    answer = node.run("bash -c %s", HEALTHZ)
    healthy = answer.stdout.startswith("HTTP/1.0 200")
    return Finding(healthy, "ok" if healthy else answer.stdout.strip() or answer.stderr.strip())


def control_plane_images(node: Node, declared: Declared) -> Finding:
    """The control plane runs from images of the declared versions."""
    wanted = {f"{declared.plan.image_repository}/{name}:{versions.KUBERNETES}" for name in KUBERNETES}
    wanted |= {f"{declared.plan.image_repository}/etcd:{versions.ETCD}"}
    wanted |= {f"{declared.plan.image_repository}/coredns:{versions.COREDNS}"}
    socket = str(declared.plan.directories.socket)
    listing = node.run("ctr --address %s --namespace %s containers list", socket, NAMESPACE).stdout
    running = {row.split()[1] for row in listing.splitlines()[1:] if len(row.split()) > 1}
    missing = sorted(wanted - running)
    return Finding(
        not missing, f"missing: {', '.join(missing)}" if missing else f"{len(wanted)} images as declared"
    )


def node_ready(node: Node, declared: Declared) -> Finding:
    """The cluster has the node as ready, with the declared kubelet."""
    kubeconfig = declared.plan.directories.kubernetes / "admin.conf"
    command = "%s --kubeconfig %s --request-timeout 5s get node %s --output json"
    answer = node.run(command, str(declared.kubectl), str(kubeconfig), declared.plan.node.name)
    if answer.rc != 0:
        return Finding(False, answer.stderr.strip())
    status = json.loads(answer.stdout)["status"]
    ready = next((one for one in status["conditions"] if one["type"] == "Ready"), {"status": "Unknown"})
    version = status["nodeInfo"]["kubeletVersion"]
    return Finding(
        ready["status"] == "True" and version == versions.KUBERNETES, f"Ready={ready['status']}, {version}"
    )


def control_groups(node: Node, declared: Declared) -> Finding:
    """Pods have control groups of their own for processor, memory and process counts."""
    name = f"{declared.plan.cgroup}/kubepods"
    unified = node.file(f"/sys/fs/cgroup/{name}")
    if unified.exists:
        found = set(node.file(f"/sys/fs/cgroup/{name}/cgroup.controllers").content_string.split())
    else:
        found = {one for one in ("cpu", "memory", "pids") if node.file(f"/sys/fs/cgroup/{one}/{name}").exists}
    return Finding({"cpu", "memory", "pids"} <= found, ", ".join(sorted(found)) or "none")


def _process_id(node: Node, declared: Declared, name: str) -> str:
    file = node.file(str(declared.plan.directories.run / f"{name}.pid"))
    return str(file.content_string).split()[0] if file.exists else ""
