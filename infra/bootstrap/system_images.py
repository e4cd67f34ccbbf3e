"""Images of the control plane, from scratch around compiled programs."""

from collections.abc import Mapping
from pathlib import Path

from infra import versions
from infra.bootstrap import libraries
from infra.bootstrap.plan import Plan
from infra.images.archive import Program
from toolchain import tools

KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
PACKET_FILTER = Path("/usr/sbin/nft")
SLEEP = Path("/usr/bin/sleep")


def programs(plan: Plan) -> list[Program]:
    """Every image of the control plane; a tool that is neither on PATH nor built raises TrainyardError.

    A pod's pause container has nothing to do but to stay: coreutils' sleep does that.
    """
    return [
        *(_program(plan, name, versions.KUBERNETES, tools.find(name)) for name in KUBERNETES),
        _program(plan, "etcd", versions.ETCD, tools.find("etcd")),
        _program(plan, "coredns", versions.COREDNS, tools.find("coredns")),
        _program(plan, "pause", versions.PAUSE, SLEEP, arguments=("infinity",)),
    ]


def _program(
    plan: Plan, name: str, version: str, binary: Path, *, arguments: tuple[str, ...] = ()
) -> Program:
    target = f"/usr/local/bin/{name}"
    files: dict[str, Path] = {target: binary, **libraries.needed_by(binary)}
    if name == "kube-proxy":
        files |= _packet_filter()
    return Program(f"{plan.image_repository}/{name}:{version}", files, (target, *arguments))


def _packet_filter() -> Mapping[str, Path]:
    return {str(PACKET_FILTER): PACKET_FILTER, **libraries.needed_by(PACKET_FILTER)}
