"""Where this pod stands among the pods of its run, from the variables that the scheduler injects."""

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trainer.config import RunConfig
from trainer.errors import ConfigError, HandshakeTimeout

RESOLVE_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True)
class Topology:
    """Number and rank of the pod, its processes, and the address where all meet."""

    num_nodes: int = 1
    node_rank: int = 0
    num_processes: int = 1
    master_address: str = "127.0.0.1"
    master_port: int = 29500

    @property
    def world_size(self) -> int:
        return self.num_nodes * self.num_processes

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Topology":
        """Read NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR and MASTER_PORT; raises ConfigError."""
        topology = cls(
            num_nodes=_number(environment, "NNODES", default=1, minimum=1),
            node_rank=_number(environment, "NODE_RANK", default=0, minimum=0),
            num_processes=_number(environment, "NPROC_PER_NODE", default=1, minimum=1),
            master_address=environment.get("MASTER_ADDR", "127.0.0.1"),
            master_port=_number(environment, "MASTER_PORT", default=29500, minimum=1),
        )
        if topology.node_rank >= topology.num_nodes:
            raise ConfigError(f"NODE_RANK {topology.node_rank} is not below NNODES {topology.num_nodes}")
        return topology

    def require_world_size(self, config: RunConfig) -> None:
        """Raise ConfigError unless the parallel layout fits the processes there are."""
        wanted = config.parallel
        if wanted.world_size != self.world_size:
            raise ConfigError(
                f"parallel: data x tensor x pipeline is {wanted.data} x {wanted.tensor} x "
                f"{wanted.pipeline} = {wanted.world_size}, but NNODES x NPROC_PER_NODE is "
                f"{self.num_nodes} x {self.num_processes} = {self.world_size}"
            )


def wait_for_address(name: str, *, timeout_seconds: float, report: Callable[[str], None]) -> str:
    """Resolve the master's name, waiting while it does not exist yet: a pod's name appears with the pod.

    Returns an IP address; raises HandshakeTimeout.
    """
    deadline = time.monotonic() + timeout_seconds
    waiting = False
    while True:
        try:
            return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
        except socket.gaierror as error:
            if time.monotonic() > deadline:
                raise HandshakeTimeout(
                    f"handshake: {name} did not resolve within {timeout_seconds:g} s ({error.strerror}); "
                    f"check that the first worker's pod exists and that the cluster's DNS answers"
                ) from error
        if not waiting:
            report(f"waiting for the name {name}")
            waiting = True
        time.sleep(RESOLVE_INTERVAL_SECONDS)


def is_loopback(address: str) -> bool:
    """Whether an address never leaves this machine."""
    return address.startswith("127.") or address == "::1"


def _number(environment: Mapping[str, str], name: str, *, default: int, minimum: int) -> int:
    text = environment.get(name, str(default))
    if not text.isascii() or not text.isdigit() or int(text) < minimum:
        raise ConfigError(f"environment variable {name}: {text!r} is not a whole number from {minimum} up")
    return int(text)
