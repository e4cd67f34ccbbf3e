"""Asks an executable for its version, and judges whether Trainyard can use it."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from infra import versions

TIMEOUT_SECONDS = 30
PULUMI_MINIMUM = (3, 200)
PROVIDER_MAJOR = 4
KUBECTL_MINOR_SKEW = 1
NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)[\w.+-]*")

Version = tuple[int, int, int]


@dataclass(frozen=True)
class Probe:
    """How a tool says its version, which versions will do, and the words for that."""

    arguments: tuple[str, ...]
    accepts: Callable[[Version], bool]
    wanted: str


@lru_cache
def version_text(path: Path, arguments: tuple[str, ...]) -> str:
    """The version an executable prints, such as v1.34.4; empty when it prints none."""
    try:
        result = subprocess.run(
            [str(path), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = NUMBERS.search(result.stdout or result.stderr) if result.returncode == 0 else None
    return match[0] if match else ""


@lru_cache
def provider_version(path: Path) -> str:
    """The version of a resource provider, which tells it only over gRPC; empty when it tells none."""
    import grpc
    from google.protobuf import empty_pb2
    from pulumi.runtime.proto import provider_pb2_grpc

    child = subprocess.Popen([str(path), "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    try:
        port = int(child.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = provider_pb2_grpc.ResourceProviderStub(channel)
            return str(stub.GetPluginInfo(empty_pb2.Empty(), timeout=TIMEOUT_SECONDS).version)
    except (ValueError, grpc.RpcError):
        return ""
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def parse(text: str) -> Version | None:
    """The three numbers of a version; None where there are none."""
    match = NUMBERS.search(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def usable(tool: str, text: str) -> bool:
    """Whether that version of the tool will do."""
    probe, version = PROBES.get(tool), parse(text)
    return probe is not None and version is not None and probe.accepts(version)


def _exactly(text: str, *arguments: str) -> Probe:
    wanted = parse(text)
    return Probe(arguments, lambda version: version == wanted, f"exactly {text}")


def _kubectl() -> Probe:
    wanted = parse(versions.KUBERNETES)
    assert wanted is not None
    major, minor, _ = wanted

    def accepts(version: Version) -> bool:
        return version[0] == major and abs(version[1] - minor) <= KUBECTL_MINOR_SKEW

    words = f"{major}.{minor - KUBECTL_MINOR_SKEW} to {major}.{minor + KUBECTL_MINOR_SKEW}"
    return Probe(("version", "--client", "--output", "json"), accepts, words)


PROBES: dict[str, Probe] = {
    "pulumi": Probe(
        ("version",),
        lambda version: version[0] == PULUMI_MINIMUM[0] and version >= (*PULUMI_MINIMUM, 0),
        f"{PULUMI_MINIMUM[0]}.{PULUMI_MINIMUM[1]} or newer",
    ),
    "pulumi-resource-kubernetes": Probe(
        (), lambda version: version[0] == PROVIDER_MAJOR, f"any {PROVIDER_MAJOR}.x"
    ),
    "kubectl": _kubectl(),
    "kubeadm": _exactly(versions.KUBERNETES, "version", "--output", "short"),
    "etcd": _exactly(versions.ETCD, "--version"),
    "coredns": _exactly(versions.COREDNS, "-version"),
} | {
    name: _exactly(versions.KUBERNETES, "--version")
    for name in ("kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
}
