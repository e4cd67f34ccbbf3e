"""Distribution packages that a node or an image build needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra import versions
from infra.bootstrap.host import Host
from infra.bootstrap.progress import Progress


@dataclass(frozen=True)
class Package:
    """A Debian package, the program that shows that it is there, and how the program says its version.

    Other packages may bring the same program: Docker's containerd.io has containerd and runc.
    """

    name: str
    program: str
    arguments: tuple[str, ...] = ("--version",)
    minimum: str = ""


RUNTIME = (
    Package("containerd", "containerd", minimum=versions.CONTAINERD_MINIMUM),
    Package("runc", "runc"),
)
NODE = (
    *RUNTIME,
    Package("containernetworking-plugins", "/usr/lib/cni/bridge", ()),
    Package("nftables", "nft"),
    Package("iproute2", "ip", ("-V",)),
    Package("mount", "mount"),
    Package("kmod", "modprobe"),
    Package("openssl", "openssl", ("version",)),
)
IMAGES = (
    Package("buildah", "buildah"),
    Package("debootstrap", "debootstrap"),
)


def missing(host: Host, wanted: Sequence[Package]) -> list[str]:
    """Names of the packages whose program is not there."""
    return [package.name for package in wanted if host.find(package.program) is None]


def install_line(names: Sequence[str]) -> str:
    """The command that installs packages, and never removes one that conflicts."""
    return f"apt-get install --yes --no-remove --no-install-recommends {' '.join(names)}"


def install(host: Host, names: list[str], *, progress: Progress) -> None:
    """Install packages from the machine's own Debian sources; does nothing for an empty list.

    Raises TrainyardError where apt fails, also because a package of the machine would have to go.
    """
    if not names:
        return
    progress.say(f"installing {', '.join(names)}")
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    step = f"make this work, then run the command again: {install_line(names)}"
    host.run(["apt-get", "update", "--quiet"], env=environment, next_step=step)
    host.run(install_line(names).split(), env=environment, next_step=step)
