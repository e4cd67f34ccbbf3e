"""What of a cluster is still on the host: the question that `down` answers with zeros."""

import json
from dataclasses import dataclass, fields
from pathlib import Path

from infra.bootstrap import cgroups, daemons, mounts, network, packages
from infra.bootstrap.host import Host
from infra.bootstrap.mounts import Mount
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError

DAEMONS = ("kubelet", "containerd")
NFT_TABLE = "kube-proxy"


@dataclass(frozen=True)
class Leftovers:
    """Everything of the cluster that lives outside the vault and the image store."""

    processes: tuple[int, ...]
    mounts: tuple[Path, ...]
    namespaces: tuple[Path, ...]
    interfaces: tuple[str, ...]
    tables: tuple[str, ...]
    control_groups: tuple[Path, ...]
    files: tuple[Path, ...]

    def summary(self) -> str:
        """`0 processes, 0 mounts, ...`"""
        counts = ((len(getattr(self, one.name)), one.name.replace("_", " ")) for one in fields(self))
        return ", ".join(f"{count} {name}" for count, name in counts)

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return not any(getattr(self, one.name) for one in fields(self))


def find(host: Host, plan: Plan) -> Leftovers:
    """Look everywhere that a cluster leaves traces."""
    mounted = cluster_mounts(host, plan)
    return Leftovers(
        processes=tuple(processes(host, plan)),
        mounts=tuple(one.point for one in mounted if one.filesystem != "nsfs"),
        namespaces=tuple(one.point for one in mounted if one.filesystem == "nsfs"),
        interfaces=tuple(interfaces(host, plan)),
        tables=tuple(tables(host, plan)),
        control_groups=tuple(cgroups.directories(host, plan)),
        files=tuple(path for path in files(host, plan) if host.exists(path)),
    )


def processes(host: Host, plan: Plan) -> list[int]:
    """Ids of the cluster's processes: its control groups' and its daemons'."""
    named = [daemons.process_id(host, plan, name=name) for name in DAEMONS]
    return sorted({*cgroups.processes(host, plan), *(pid for pid in named if pid is not None)})


def cluster_mounts(host: Host, plan: Plan) -> list[Mount]:
    """Mounts of pods, containers and pinned namespaces, in the order in which they can be unmounted."""
    tops = [plan.directories.run, plan.directories.kubelet, plan.directories.containerd]
    return mounts.below(mounts.mounts(host), tops)


def interfaces(host: Host, plan: Plan) -> list[str]:
    """The node's bridge, the pods' bridge, and what is plugged into them; plugged ones first."""
    found = network.interfaces(host) if _lists(host, plan, "ip", package="iproute2") else {}
    bridges = [plan.networks.pod_bridge, plan.node.interface]
    plugged = [name for name, bridge in found.items() if bridge in bridges]
    return [*plugged, *(name for name in bridges if name in found)]


def tables(host: Host, plan: Plan) -> list[str]:
    """Packet filter tables of kube-proxy, as `<family> <name>`; raises TrainyardError if nft cannot tell."""
    if not _lists(host, plan, "nft", package="nftables"):
        return []
    listing = host.run(["nft", "--json", "list", "tables"])
    entries = [entry["table"] for entry in json.loads(listing.output)["nftables"] if "table" in entry]
    return [f"{one['family']} {one['name']}" for one in entries if one["name"] == NFT_TABLE]


def files(host: Host, plan: Plan) -> list[Path]:
    """Files and directories that go with the cluster; those of Kubernetes itself only where they are ours."""
    directories = plan.directories
    own = [path for path in host.entries(directories.cluster) if path != directories.logs]
    own.append(directories.logs / "pods")
    store = directories.containerd / "io.containerd.grpc.v1.cri"
    own += [store / "containers", store / "sandboxes", directories.run]
    own += [path for path in host.entries(directories.cni_results) if _is_result(path)]
    own += [
        path for path in host.entries(directories.container_links) if _leads_to(host, path, directories.logs)
    ]
    if host.exists(directories.owner):
        own += [directories.kubelet, directories.kubernetes]
    return own


def _lists(host: Host, plan: Plan, program: str, *, package: str) -> bool:
    """Whether a program can be asked; where it is missing, only a machine without our mark has nothing."""
    if host.find(program):
        return True
    if host.exists(plan.directories.owner):
        raise TrainyardError(
            f"{program} is missing, so that what the cluster made cannot be listed",
            next_step=f"{packages.install_line([package])}, then run the command again",
        )
    return False


def _leads_to(host: Host, path: Path, directory: Path) -> bool:
    target = host.link_target(path)
    return target is not None and target.is_relative_to(directory)


def _is_result(path: Path) -> bool:
    return path.name.startswith(("trainyard-", "cni-loopback-"))
