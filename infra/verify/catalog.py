"""All node checks, in the order in which they are reported."""

from infra.verify import network, runtime, storage
from infra.verify.finding import Check

CHECKS: tuple[Check, ...] = (
    runtime.container_runtime,
    runtime.kubelet_version,
    runtime.kubelet_health,
    runtime.control_plane_images,
    runtime.control_groups,
    runtime.node_ready,
    network.api_server_port,
    network.no_open_ports,
    network.addresses,
    network.forwarding,
    network.packet_filter,
    network.service_routing,
    storage.read_only_volumes,
    storage.writable_volumes,
    storage.state_mount,
    storage.disk_free,
    storage.clock,
    storage.certificates,
)


def title(check: Check) -> str:
    """What a check says about the node when it passes: the first line of its documentation."""
    return (check.__doc__ or check.__name__).splitlines()[0].rstrip(".")
