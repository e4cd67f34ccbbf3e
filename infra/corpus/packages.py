"""Debian packages by the machine's own apt configuration: find, download, read; nothing is installed."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

from infra.errors import TrainyardError

Progress = Callable[[str], None]
Wanted = Callable[[str], str | None]
Result = TypeVar("Result")

URI_LINE = re.compile(r"^'[^']+' (?P<file>\S+_\S+_\S+\.deb) (?P<size>\d+) ?(?P<hash>\S*)$", re.MULTILINE)
STALE_LISTS: Final = (
    "Unable to locate package",
    "no installation candidate",
    "No packages found",
    "404  Not",
)
OWN_TEXT: Final = "prepare text of your own: python -m trainer data prepare --help"


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A package file as the archive offers it; `sha256` is empty when apt knows another hash only."""

    package: str
    version: str
    file: str
    num_bytes: int
    sha256: str


def fetch_packages(names: Sequence[str], *, directory: Path, progress: Progress) -> dict[str, Path]:
    """Download the candidate version of each package into `directory`; files already there are kept.

    Raises TrainyardError with apt's own message when a package is unknown or a download fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    archives = _refreshing(lambda: _fetch(names, directory, progress), progress)
    return {archive.package: directory / archive.file for archive in archives}


def find_packages(names: Sequence[str]) -> list[Archive]:
    """Ask apt which files hold the candidate versions of `names`, in that order.

    Raises TrainyardError when apt is absent or does not know a package.
    """
    with tempfile.TemporaryDirectory() as empty:
        listing = _apt_get("download", "--print-uris", *names, directory=Path(empty))
    found = {archive.package: archive for archive in map(_archive, URI_LINE.finditer(listing))}
    absent = [name for name in names if name not in found]
    if absent:
        raise TrainyardError(f"apt offers no package {', '.join(absent)}", next_step=OWN_TEXT)
    return [found[name] for name in names]


def read_files(archive: Path, *, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the package's regular files for which `wanted(path)` gives a name.

    Paths are relative to the root; nothing is unpacked to disk. Raises TrainyardError on a damaged package.
    """
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                yield from _wanted_members(tar, wanted)
        except tarfile.TarError as error:
            reason = process.communicate()[1].decode(errors="replace").strip() or str(error)
            message = f"{archive} is damaged: {reason}"
            raise TrainyardError(message, next_step="delete it, then run this again") from error
        finally:
            process.kill()


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wanted_members(tar: tarfile.TarFile, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    for member in tar:
        name = wanted(member.name.removeprefix("./"))
        content = tar.extractfile(member) if member.isreg() and name is not None else None
        if name is not None and content is not None:
            yield name, content.read()


def _archive(match: re.Match[str]) -> Archive:
    package, version, _ = unquote(match["file"]).split("_", 2)
    kind, _, digest = match["hash"].partition(":")
    return Archive(
        package=package,
        version=version,
        file=match["file"],
        num_bytes=int(match["size"]),
        sha256=digest if kind == "SHA256" else "",
    )


def _is_whole(path: Path, archive: Archive) -> bool:
    if not path.is_file() or path.stat().st_size != archive.num_bytes:
        return False
    return not archive.sha256 or file_sha256(path) == archive.sha256


def _fetch(names: Sequence[str], directory: Path, progress: Progress) -> list[Archive]:
    archives = find_packages(names)
    missing = [archive for archive in archives if not _is_whole(directory / archive.file, archive)]
    if missing:
        megabytes = sum(archive.num_bytes for archive in missing) / 1e6
        progress(f"corpus: downloading {len(missing)} packages, {megabytes:.0f} MB")
        _download(missing, directory)
    return archives


def _download(archives: Sequence[Archive], directory: Path) -> None:
    with tempfile.TemporaryDirectory(dir=directory, prefix=".download-") as staging:
        pinned = [f"{archive.package}={archive.version}" for archive in archives]
        _apt_get("download", *pinned, directory=Path(staging))
        for archive in archives:
            path = Path(staging) / archive.file
            if not _is_whole(path, archive):
                raise TrainyardError(f"{archive.file} did not arrive whole", next_step="run this again")
            path.replace(directory / archive.file)


def _refreshing(action: Callable[[], Result], progress: Progress) -> Result:
    """Run `action`; when apt's lists turn out to be missing or outdated, renew them and run it once more."""
    try:
        return action()
    except TrainyardError as error:
        if not any(sign in error.message for sign in STALE_LISTS):
            raise
        if os.geteuid() != 0:
            raise TrainyardError(error.message, next_step="sudo apt-get update, then again") from error
    progress("corpus: apt's package lists are missing or outdated: apt-get update")
    _apt_get("update", directory=Path.cwd())
    return action()


def _apt_get(*arguments: str, directory: Path) -> str:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        message = "the corpus comes from Debian packages, and this machine has no apt-get and dpkg-deb"
        raise TrainyardError(message, next_step=f"run this on a Debian machine, or {OWN_TEXT}")
    # apt's own unprivileged user cannot write into our directories
    as_root = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    done = subprocess.run(
        ["apt-get", "-q", *as_root, *arguments],
        cwd=directory,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"apt-get {arguments[0]} failed: {done.stderr.strip()}"
        raise TrainyardError(message, next_step="check apt's sources and the network, then run this again")
    return done.stdout
