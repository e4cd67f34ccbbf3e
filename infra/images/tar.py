"""Reproducible tar streams: entries sorted, owned by root, without times."""

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO


class Sink:
    """Where a tar stream goes: bytes are passed on, with `hashing` their SHA-256 is kept."""

    def __init__(self, stream: IO[bytes], *, hashing: bool = False) -> None:
        self._stream = stream
        self._hash = hashlib.sha256() if hashing else None
        self._position = 0

    def write(self, data: bytes) -> int:
        """Pass on."""
        if self._hash is not None:
            self._hash.update(data)
        self._position += len(data)
        return self._stream.write(data)

    def tell(self) -> int:
        """Bytes that were written so far."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Never."""
        raise io.UnsupportedOperation("read")

    def seek(self, position: int) -> int:
        """Never."""
        raise io.UnsupportedOperation("seek")

    def close(self) -> None:
        """The stream stays open for its owner."""

    @property
    def digest(self) -> str:
        """Digest of all that was written so far, as `sha256:<hex>`; only with `hashing`."""
        assert self._hash is not None
        return f"sha256:{self._hash.hexdigest()}"


@dataclass(frozen=True)
class Content:
    """What a layer holds, by absolute path in the image: files on this machine, targets of symbolic links."""

    files: Mapping[str, Path]
    links: Mapping[str, str] = field(default_factory=dict)


def tree(root: Path, *, target: str) -> Content:
    """All files and links under a directory, to lie under `target` in the image."""
    files: dict[str, Path] = {}
    links: dict[str, str] = {}
    for path in root.rglob("*"):
        name = f"{target}/{path.relative_to(root)}"
        if path.is_symlink():
            links[name] = str(path.readlink())
        elif path.is_file():
            files[name] = path
    return Content(files, links)


def write(stream: Sink, content: Content) -> None:
    """Write a layer with the parents that its entries need."""
    made: set[Path] = set()
    with opened(stream) as archive:
        for name in sorted({*content.files, *content.links}):
            relative = Path(name.lstrip("/"))
            for parent in reversed(relative.parents[:-1]):
                if parent not in made:
                    made.add(parent)
                    archive.addfile(_entry(str(parent), kind=tarfile.DIRTYPE, mode=0o755))
            if name in content.links:
                _add_link(archive, str(relative), content.links[name])
            else:
                add_file(archive, str(relative), content.files[name])


def opened(stream: Sink) -> tarfile.TarFile:
    """A tar file to add entries to; closing it ends the archive, not the stream."""
    return tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT)


def add_file(archive: tarfile.TarFile, name: str, source: Path) -> None:
    """Add a file; of its mode only the right to execute counts."""
    status = source.stat()
    with source.open("rb") as stream:
        entry = _entry(name, mode=0o755 if status.st_mode & 0o111 else 0o644)
        entry.size = status.st_size
        archive.addfile(entry, stream)


def add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file from memory."""
    entry = _entry(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    entry = _entry(name, kind=tarfile.SYMTYPE, mode=0o777)
    entry.linkname = target
    archive.addfile(entry)


def _entry(name: str, *, kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = mode
    return entry
