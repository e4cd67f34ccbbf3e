"""What a cluster should be: node, networks, directories; plain data without any action."""

from dataclasses import dataclass, field
from pathlib import Path

from infra import paths

POD_USER = 10001


@dataclass(frozen=True)
class Node:
    """A machine that becomes a cluster member; `address` is where the others reach it."""

    name: str
    address: str
    interface: str
    prefix_length: int = 24
    pod_subnet: str = "10.87.64.0/24"


@dataclass(frozen=True)
class Networks:
    """Address ranges, which must not overlap; `dns_address` lies in the service range."""

    pods: str = "10.87.64.0/18"
    services: str = "10.87.128.0/20"
    dns_address: str = "10.87.128.10"
    dns_domain: str = "cluster.local"
    pod_bridge: str = "trainyard-pods"


@dataclass(frozen=True)
class Directories:
    """Where things lie: `state` survives a `down` in parts, `store` in whole, `run` never.

    The last six are fixed by kubeadm, the kubelet, CNI and containerd; `down` leaves nothing there.
    """

    state: Path
    store: Path
    run: Path = Path("/run/trainyard")
    cni_plugins: Path = Path("/usr/lib/cni")
    kubernetes: Path = Path("/etc/kubernetes")
    kubelet: Path = Path("/var/lib/kubelet")
    cni_results: Path = Path("/var/lib/cni/results")
    kubelet_plugins: Path = Path("/usr/libexec/kubernetes/kubelet-plugins/volume/exec")
    container_links: Path = Path("/var/log/containers")
    shim_sockets: Path = Path("/run/containerd/s")

    @property
    def cluster(self) -> Path:
        """Rendered configuration, etcd's data and logs of the running cluster."""
        return self.state / "cluster"

    @property
    def logs(self) -> Path:
        """Logs of containerd, the kubelet and the pods."""
        return self.cluster / "log"

    @property
    def containerd(self) -> Path:
        """containerd's images, kept when the cluster goes."""
        return self.store / "containerd"

    @property
    def images(self) -> Path:
        """Where images are built."""
        return self.store / "images"

    @property
    def socket(self) -> Path:
        """Where containerd listens."""
        return self.run / "containerd.sock"

    @property
    def owner(self) -> Path:
        """The file that says which state directory this host's cluster belongs to."""
        return self.kubernetes / "trainyard-owner"

    @property
    def initialised(self) -> Path:
        """The file that says that kubeadm went through to its end."""
        return self.cluster / "initialised"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.cluster / "admin.kubeconfig"


@dataclass(frozen=True)
class Plan:
    """A cluster on one node; `cgroup` is the parent of everything that the cluster runs."""

    node: Node
    directories: Directories
    networks: Networks = field(default_factory=Networks)
    api_port: int = 6443
    cgroup: str = "trainyard"
    image_repository: str = "localhost/k8s"


def embedded_plan() -> Plan:
    """The single-machine cluster of the local stack."""
    node = Node(name="trainyard-local", address="10.87.0.1", interface="trainyard0")
    return Plan(node=node, directories=Directories(state=paths.state_dir(), store=paths.store_dir()))
