"""Distribution packages that a node or an image build needs."""

from collections.abc import Mapping
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.progress import Progress

NODE: Mapping[str, Path] = {
    "containerd": Path("/usr/bin/containerd"),
    "runc": Path("/usr/sbin/runc"),
    "containernetworking-plugins": Path("/usr/lib/cni/bridge"),
    "nftables": Path("/usr/sbin/nft"),
    "iproute2": Path("/sbin/ip"),
    "mount": Path("/usr/bin/mount"),
}
IMAGES: Mapping[str, Path] = {
    "buildah": Path("/usr/bin/buildah"),
    "debootstrap": Path("/usr/sbin/debootstrap"),
}


def missing(host: Host, wanted: Mapping[str, Path]) -> list[str]:
    """Names of the packages whose program is not there."""
    return [name for name, program in wanted.items() if not host.exists(program)]


def install_line(names: list[str]) -> str:
    """The command that installs packages."""
    return f"apt-get install --yes --no-install-recommends {' '.join(names)}"


def install(host: Host, names: list[str], *, progress: Progress) -> None:
    """Install packages from the machine's own Debian sources; does nothing for an empty list."""
    if not names:
        return
    progress.say(f"installing {', '.join(names)}")
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    host.run(["apt-get", "update", "--quiet"], env=environment)
    host.run(install_line(names).split(), env=environment)
