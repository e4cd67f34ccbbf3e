"""Prove a data set whole before training reads it, and fill the node's cache in the same pass."""

import hashlib
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from trainer import files
from trainer.data import manifest as manifests
from trainer.data.manifest import TOKEN_BYTES, Manifest, Shard
from trainer.errors import DataError


def verify(directory: Path, *, version: str | None = None, copy_to: Path | None = None) -> Manifest:
    """Check manifest, file count, sizes, checksums, rows and token format; copy files that pass to `copy_to`.

    Raises DataError naming the first file that is wrong and what is wrong with it.
    """
    manifest = manifests.read(directory)
    manifests.require_version(manifest, version, directory=directory)
    _check_file_count(directory, manifest)
    _check_totals(directory, manifest)
    for shard in manifest.splits.shards():
        _check_shard(directory / shard.file, shard, manifest=manifest, copy_to=copy_to)
    _check_tokenizer(directory, manifest, copy_to=copy_to)
    if copy_to:
        shutil.copyfile(directory / manifests.FILE_NAME, copy_to / manifests.FILE_NAME)
    return manifest


def fill_cache(dataset: Path, cache: Path, *, version: str | None = None) -> tuple[Path, bool]:
    """Make `cache` hold a verified copy of the data set.

    Returns the copy's directory, and whether it was there already. Several workers of one node may do this at
    once: each copies into a directory of its own, the first to finish gives it the final name.
    """
    manifest = manifests.read(dataset)
    manifests.require_version(manifest, version, directory=dataset)
    target = cached_directory(dataset, cache, version=manifest.version)
    if _is_whole(target, manifest.version):
        return target, True
    with files.staging_directory(target) as staging:
        verify(dataset, version=manifest.version, copy_to=staging)
        _publish(staging, target, version=manifest.version)
    return target, False


def cached_directory(dataset: Path, cache: Path, *, version: str) -> Path:
    """Where a version of a data set lies in a node's cache."""
    return cache / f"{dataset.name}-{version}"


def locate(dataset: Path, cache: Path, *, version: str | None = None) -> tuple[Path, Manifest]:
    """The directory to train from: the cached copy where the init step made one, else the data set itself."""
    manifest = manifests.read(dataset)
    manifests.require_version(manifest, version, directory=dataset)
    cached = cached_directory(dataset, cache, version=manifest.version)
    return (cached if cached.is_dir() else dataset), manifest


def _is_whole(directory: Path, version: str) -> bool:
    try:
        verify(directory, version=version)
    except DataError:
        return False
    return True


def _publish(staging: Path, target: Path, *, version: str) -> None:
    try:
        files.publish_directory(staging, target)
    except OSError:
        if not _is_whole(target, version):
            raise


def _check_file_count(directory: Path, manifest: Manifest) -> None:
    expected = {shard.file for shard in manifest.splits.shards()}
    found = {path.name for path in directory.glob("*.bin")}
    if missing := sorted(expected - found):
        raise DataError(
            f"{directory}: file count: {len(found)} shards, the manifest lists {len(expected)}; "
            f"missing {', '.join(missing[:3])}"
        )
    if extra := sorted(found - expected):
        raise DataError(f"{directory}: file count: {', '.join(extra[:3])} is not in the manifest")


def _check_totals(directory: Path, manifest: Manifest) -> None:
    for name, split in (("train", manifest.splits.train), ("validation", manifest.splits.validation)):
        if split.num_documents != sum(shard.num_rows for shard in split.shards):
            raise DataError(f"{directory}: rows: the shards of {name} do not add up to num_documents")
        if split.num_tokens != sum(shard.num_tokens for shard in split.shards):
            raise DataError(f"{directory}: tokens: the shards of {name} do not add up to num_tokens")


class _Scan:
    """What one pass over a shard's bytes finds."""

    def __init__(self, *, end_of_text: int) -> None:
        self.sha256 = hashlib.sha256()
        self.num_bytes = self.num_rows = self.largest = self.last = 0
        self._end_of_text = end_of_text

    def update(self, chunk: bytes) -> None:
        self.sha256.update(chunk)
        self.num_bytes += len(chunk)
        tokens = np.frombuffer(chunk, dtype="<u2", count=len(chunk) // TOKEN_BYTES)
        if len(tokens):
            self.num_rows += int(np.count_nonzero(tokens == self._end_of_text))
            self.largest, self.last = max(self.largest, int(tokens.max())), int(tokens[-1])


def _check_shard(path: Path, shard: Shard, *, manifest: Manifest, copy_to: Path | None) -> None:
    end_of_text = manifest.tokenizer.end_of_text_id
    scan = _Scan(end_of_text=end_of_text)
    with ExitStack() as stack:
        source = stack.enter_context(_open(path))
        copy = stack.enter_context((copy_to / shard.file).open("wb")) if copy_to else None
        while chunk := source.read(files.CHUNK_BYTES):
            scan.update(chunk)
            if copy:
                copy.write(chunk)
    _compare(path, "size in bytes", scan.num_bytes, shard.num_bytes)
    _compare(path, "checksum", scan.sha256.hexdigest(), shard.sha256)
    _compare(path, "tokens", scan.num_bytes / TOKEN_BYTES, shard.num_tokens)
    _compare(path, "rows", scan.num_rows, shard.num_rows)
    if scan.largest >= manifest.vocab_size or (scan.num_bytes and scan.last != end_of_text):
        raise DataError(
            f"{path}: format: not {manifest.format} of a vocabulary of {manifest.vocab_size} "
            f"(largest token {scan.largest}, last token {scan.last}, end of text {end_of_text})"
        )


def _check_tokenizer(directory: Path, manifest: Manifest, *, copy_to: Path | None) -> None:
    path = directory / manifest.tokenizer.file
    with _open(path) as file:
        content = file.read()
    _compare(path, "checksum", hashlib.sha256(content).hexdigest(), manifest.tokenizer.sha256)
    if copy_to:
        (copy_to / manifest.tokenizer.file).write_bytes(content)


def _compare(path: Path, what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DataError(f"{path}: {what}: found {found}, the manifest says {expected}")


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
