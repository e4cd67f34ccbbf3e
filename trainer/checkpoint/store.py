"""The checkpoint directory of a run: find, verify, commit and prune; plain files, no torch.

A checkpoint is `step-00000050/`: one `rank-*.safetensors` and `rank-*.json` a rank, `manifest.json` with the
checksums of all, and the marker `COMMITTED`, written last, which holds the checksum of the manifest. Readers
trust the marker alone. What is being written lies in `.staging-*`.
"""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer import files

MANIFEST_FILE = "manifest.json"
MARKER_FILE = "COMMITTED"
STAGING_PREFIX = ".staging-"
_STEP_NAME = re.compile(r"step-(\d{8,})")


class Part(BaseModel):
    """One file of a checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str, Field(pattern=r"^rank-\d{5}\.(safetensors|json)$")]
    sha256: str
    num_bytes: int


class CheckpointManifest(BaseModel):
    """What a checkpoint holds, and the run it belongs to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    step: int
    tokens_seen: int
    sequences_seen: int
    elapsed_seconds: float
    layout: dict[str, int]
    config_digest: str
    data_version: str
    identity: dict[str, Any]
    files: tuple[Part, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A committed checkpoint and where it lies."""

    path: Path
    manifest: CheckpointManifest


def step_name(step: int) -> str:
    """Directory name of a step's checkpoint."""
    return f"step-{step:08d}"


def staging_path(directory: Path, step: int, *, attempt: str) -> Path:
    """Where the ranks of one attempt write a step's checkpoint; no other attempt writes there."""
    return directory / f"{STAGING_PREFIX}{step_name(step)}-{attempt}"


def newest_whole(directory: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint whose marker and checksums all hold, and why newer ones were passed over."""
    problems: list[str] = []
    for path in reversed(_step_directories(directory)):
        problem = find_damage(path)
        if problem is None:
            return read(path), problems
        problems.append(f"{path.name}: {problem}")
    return None, problems


def read(path: Path) -> Checkpoint:
    """A checkpoint whose manifest is readable; see `find_damage` for whether it is whole."""
    return Checkpoint(path, _read_manifest(path))


def find_damage(path: Path, *, checksums: bool = True) -> str | None:
    """Say what is wrong with a checkpoint, or None when it is whole."""
    try:
        marker = (path / MARKER_FILE).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return "not committed"
    try:
        if marker != files.sha256_of(path / MANIFEST_FILE):
            return "the manifest differs from the commit marker"
        manifest = _read_manifest(path)
        problems = (_find_part_damage(path, part, checksums=checksums) for part in manifest.files)
        return next((problem for problem in problems if problem), None)
    except (OSError, ValidationError) as error:
        return f"unreadable: {error}"


def commit(staging: Path, directory: Path, manifest: CheckpointManifest) -> Path:
    """Turn a staging directory that all ranks have filled into a checkpoint; returns its path.

    Where a whole checkpoint of the step exists already, that one stays; a damaged one is replaced.
    """
    target = directory / step_name(manifest.step)
    if find_damage(target) is None:
        discard(staging)
        return target
    if target.exists():
        discard(target)
    content = manifest.model_dump_json(indent=2).encode()
    files.write_durably(staging / MANIFEST_FILE, content)
    staging.rename(target)
    files.sync_directory(directory)
    files.write_durably(target / MARKER_FILE, (hashlib.sha256(content).hexdigest() + "\n").encode())
    return target


def prune(directory: Path, *, keep_last: int) -> list[str]:
    """Delete all but the newest `keep_last` committed checkpoints; returns the names of those deleted.

    Deletes nothing unless the newest is proved whole, so the newest whole one is never lost.
    """
    committed = [path for path in _step_directories(directory) if find_damage(path, checksums=False) is None]
    expired = committed[: -max(1, keep_last)]
    if not expired or find_damage(committed[-1]) is not None:
        return []
    for path in expired:
        discard(path)
    return [path.name for path in expired]


def clean_leftovers(directory: Path) -> list[str]:
    """Remove what earlier attempts left half written; returns the names of what was removed."""
    leftovers = [
        path
        for path in sorted(directory.iterdir())
        if path.name.startswith(STAGING_PREFIX)
        or (_STEP_NAME.fullmatch(path.name) and not (path / MARKER_FILE).exists())
    ]
    for path in leftovers:
        discard(path)
    return [path.name for path in leftovers]


def discard(path: Path) -> None:
    """Delete a checkpoint so that it is never seen half deleted: the marker goes first."""
    (path / MARKER_FILE).unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _step_directories(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if _STEP_NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=_step_of)


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _read_manifest(path: Path) -> CheckpointManifest:
    return CheckpointManifest.model_validate_json((path / MANIFEST_FILE).read_bytes())


def _find_part_damage(path: Path, part: Part, *, checksums: bool) -> str | None:
    try:
        num_bytes = (path / part.file).stat().st_size
    except OSError:
        return f"{part.file} is missing"
    if num_bytes != part.num_bytes:
        return f"{part.file} has {num_bytes} bytes instead of {part.num_bytes}"
    if checksums and files.sha256_of(path / part.file) != part.sha256:
        return f"{part.file} does not match its checksum"
    return None
