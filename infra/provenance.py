"""Which code a run was declared from: written on the run when it is created, read again for its record."""

import subprocess
from pathlib import Path
from typing import Any

from infra import paths
from infra.naming import DOMAIN

COMMIT, DIRTY = f"{DOMAIN}/git-commit", f"{DOMAIN}/git-dirty"


def annotations(checkout: Path = paths.REPOSITORY) -> dict[str, str]:
    """The checkout's commit and whether it has changes, as annotations; empty where there is no git."""
    try:
        commit, changes = _git(checkout, "rev-parse", "HEAD"), _git(checkout, "status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {COMMIT: commit, DIRTY: str(bool(changes)).lower()}


def read(item: dict[str, Any]) -> dict[str, Any]:
    """Commit and dirty flag of an object that carries the annotations; None where it does not."""
    found = item["metadata"].get("annotations") or {}
    dirty = found.get(DIRTY)
    return {"commit": found.get(COMMIT), "dirty": None if dirty is None else dirty == "true"}


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
