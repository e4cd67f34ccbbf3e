"""The trainer's dependencies as one layer: installed by uv from the lock, compiled by the base's Python."""

import json
import os
import shutil
import sys
from pathlib import Path

from infra import versions
from infra.bootstrap.host import Host
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError
from infra.images import tar
from infra.images.archive import Layer, write_layer
from infra.images.workspace import Workspace, compile_python, wheel_platform
from infra.paths import cache_dir


def ensure(
    host: Host, space: Workspace, *, tag: str, base_reference: str, target: str, progress: Progress
) -> Layer:
    """The layer for a lock and a base, written if it is not in the layout yet."""
    found = space.layout.layer(known(space).get(tag, ""))
    if found is not None:
        return found
    directory = space.work / "packages"
    host.remove(directory)
    progress.say("dependencies: installing from locks/trainer.txt")
    install(host, space.checkout / "locks" / "trainer.txt", directory=directory)
    progress.say("dependencies: compiling")
    compile_python(host, space, image=base_reference, directory=directory)
    progress.say("dependencies: writing the layer")
    layer = write_layer(tar.tree(directory, target=target), directory=space.layout.blobs)
    host.remove(directory)
    space.layers.write_text(json.dumps({**known(space), tag: layer.blob.digest}, indent=2))
    return layer


def install(host: Host, lock: Path, *, directory: Path) -> None:
    """Install exactly what the lock says, wheels only, for the image's Python and C library."""
    options: list[str | Path] = [
        "--no-deps",
        "--require-hashes",
        "--no-build",
        "--quiet",
        "--target",
        directory,
    ]
    platforms = ["--python-version", versions.PYTHON, "--python-platform", wheel_platform()]
    interpreter = ["--python", sys.executable]
    command = [find_uv(), "pip", "install", *options, *platforms, *interpreter, "--requirements", lock]
    host.run(command, env=index_environment(host))
    host.remove(directory / "bin")


def known(space: Workspace) -> dict[str, str]:
    """Digests of layers that were written here, by the tag of what they were made from."""
    return dict(json.loads(space.layers.read_text())) if space.layers.exists() else {}


def find_uv() -> Path:
    """uv: the one that the environment was set up with, else PATH's; raises TrainyardError without one."""
    prepared = sorted(cache_dir().glob("uv-*/bin/uv"))
    found = str(prepared[-1]) if prepared else shutil.which("uv")
    if found is None:
        raise TrainyardError(
            "uv, which installs the trainer's dependencies, is missing", next_step="make setup"
        )
    return Path(found)


def index_environment(host: Host) -> dict[str, str]:
    """uv's index and certificates from the machine's pip configuration, where the environment names none."""
    found = {}
    for variable, override, option in (
        ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "global.index-url"),
        ("SSL_CERT_FILE", "PIP_CERT", "global.cert"),
    ):
        value = os.environ.get(override) or _pip_option(host, option)
        if value and variable not in os.environ:
            found[variable] = value
    return found


def _pip_option(host: Host, option: str) -> str:
    """What pip is configured to; this interpreter may have pip where the machine's own has none."""
    for python in (sys.executable, "python3"):
        answer = host.run([python, "-m", "pip", "config", "get", option], check=False)
        if answer.code == 0:
            return answer.output.strip()
    return ""
