"""Files that must be whole or absent: checksums, durable writes, directories that appear at once."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHUNK_BYTES = 4 * 2**20


def sha256_of(path: Path) -> str:
    """Checksum of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that it is whole on disk when this returns, and never seen half written."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o644)
    Path(file.name).replace(path)
    sync_directory(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, durably."""
    write_durably(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def sync_file(path: Path) -> None:
    """Force a file's content to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Force a directory's entries to disk."""
    sync_file(path)


@contextmanager
def staging_directory(target: Path) -> Iterator[Path]:
    """A fresh hidden directory beside `target`; removed at the end unless it was moved away."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".staging-{target.name}-"))
    staging.chmod(0o755)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def publish_directory(staging: Path, target: Path) -> None:
    """Move a finished staging directory to `target`, replacing what is there."""
    for path in staging.iterdir():
        sync_file(path)
    sync_directory(staging)
    if target.exists():
        with staging_directory(target) as old:
            target.rename(old / "old")
            staging.rename(target)
    else:
        staging.rename(target)
    sync_directory(target.parent)
