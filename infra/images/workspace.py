"""Where images are built, and the tools and inputs of a build."""

import platform
import re
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.host import Completed, Host
from infra.errors import InvalidInput
from infra.images.layout import Layout
from infra.paths import REPOSITORY

PINNED = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Workspace:
    """Directories of builds: `root` is kept between them, `run` is not."""

    root: Path
    run: Path = Path("/run/trainyard-images")
    checkout: Path = REPOSITORY

    @property
    def layout(self) -> Layout:
        """Every image that was built here."""
        return Layout(self.root / "layout")

    @property
    def work(self) -> Path:
        """Files on their way into a layer."""
        return self.root / "work"

    @property
    def layers(self) -> Path:
        """Which layers are known by what they were made from (JSON)."""
        return self.root / "layers.json"

    @property
    def lock(self) -> Path:
        """Digest of each image (JSON)."""
        return self.root / "images.lock"


def buildah(host: Host, space: Workspace, *args: str | Path) -> Completed:
    """Run buildah with a store of its own."""
    store: list[str | Path] = [
        "--root",
        space.root / "storage",
        "--runroot",
        space.run,
        "--storage-driver",
        "overlay",
    ]
    return host.run(["buildah", *store, *args])


def run_in_base(host: Host, space: Workspace, *, image: str, volume: Path, command: list[str]) -> None:
    """Run a command in a container of a base image, with a directory mounted at /work."""
    container = buildah(host, space, "from", "--quiet", image).output.strip()
    try:
        mount = f"{volume}:/work"
        buildah(host, space, "run", "--isolation", "chroot", "--volume", mount, container, "--", *command)
    finally:
        buildah(host, space, "rm", container)


def compile_python(host: Host, space: Workspace, *, image: str, directory: Path) -> None:
    """Write bytecode beside every module, by the interpreter that will load it.

    By unchecked hashes, because layers carry no times; what does not compile (templates) is left alone.
    """
    command = [
        "python",
        "-m",
        "compileall",
        "-q",
        "-j",
        "0",
        "--invalidation-mode",
        "unchecked-hash",
        "/work",
    ]
    tolerant = ["sh", "-c", '"$@" >/dev/null 2>&1 || true', "compile", *command]
    run_in_base(host, space, image=image, volume=directory, command=tolerant)


def check_pinned(base: str) -> None:
    """Raises InvalidInput for a base image without digest: a tag may point elsewhere tomorrow."""
    if base and not PINNED.fullmatch(base):
        raise InvalidInput(
            f"--base {base}: an image is named by its digest, as NAME@sha256:<64 hexadecimal digits>",
            next_step=f"look the digest up with: buildah pull {base} && buildah images --digests",
        )


def wheel_platform() -> str:
    """The platform that dependencies are taken for: this machine's architecture, C library of Debian 12."""
    return f"{platform.machine()}-manylinux_2_28"
