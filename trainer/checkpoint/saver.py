"""Checkpoints written in the background: each rank writes its share, rank 0 commits when all are there.

Ranks meet through the staging directory, not through collectives, so training never waits for storage.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from trainer import files
from trainer.checkpoint import store
from trainer.checkpoint.state import Share, write_share
from trainer.checkpoint.store import CheckpointManifest, Part
from trainer.errors import TrainerError

PEER_TIMEOUT_SECONDS = 600.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Outcome:
    """How a save ended on this rank; `path` is set on rank 0 once the checkpoint is committed."""

    step: int
    seconds: float
    path: Path | None = None
    deleted: tuple[str, ...] = ()
    problem: str | None = None


class Saver:
    """Saves one checkpoint at a time. `attempt` must be the same on all ranks and new for every start."""

    def __init__(self, directory: Path, *, attempt: str, rank: int, world_size: int, keep_last: int) -> None:
        self._directory = directory
        self._attempt = attempt
        self._rank = rank
        self._world_size = world_size
        self._keep_last = keep_last
        self._thread: Thread | None = None
        self._outcomes: list[Outcome] = []

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, share: Share, manifest: CheckpointManifest) -> None:
        """Begin to write a snapshot; `manifest` lists no files yet. The previous save must have ended."""
        assert not self.busy
        work = self._write_and_commit if self._rank == 0 else self._write
        self._thread = Thread(
            target=self._guard, args=(work, share, manifest), name="checkpoint", daemon=True
        )
        self._thread.start()

    def finished(self) -> list[Outcome]:
        """Saves that ended since the last call."""
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def wait(self) -> None:
        """Block until no save is running."""
        if self._thread:
            self._thread.join()

    def _guard(
        self, work: Callable[[Share, CheckpointManifest], Outcome], share: Share, manifest: CheckpointManifest
    ) -> None:
        started = time.monotonic()
        try:
            outcome = work(share, manifest)
        except Exception as error:
            outcome = Outcome(
                manifest.step, time.monotonic() - started, problem=f"{type(error).__name__}: {error}"
            )
        self._outcomes.append(outcome)

    def _write(self, share: Share, manifest: CheckpointManifest) -> Outcome:
        started = time.monotonic()
        staging = store.staging_path(self._directory, manifest.step, attempt=self._attempt)
        staging.mkdir(parents=True, exist_ok=True)
        try:
            parts = write_share(share, staging, rank=self._rank)
            receipt = {"files": [part.model_dump() for part in parts]}
        except Exception as error:
            files.write_json(
                _receipt_path(staging, self._rank), {"problem": f"{type(error).__name__}: {error}"}
            )
            raise
        files.write_json(_receipt_path(staging, self._rank), receipt)
        return Outcome(manifest.step, time.monotonic() - started)

    def _write_and_commit(self, share: Share, manifest: CheckpointManifest) -> Outcome:
        started = time.monotonic()
        self._write(share, manifest)
        staging = store.staging_path(self._directory, manifest.step, attempt=self._attempt)
        parts = _collect_receipts(staging, world_size=self._world_size)
        path = store.commit(staging, self._directory, manifest.model_copy(update={"files": tuple(parts)}))
        deleted = store.prune(self._directory, keep_last=self._keep_last)
        return Outcome(manifest.step, time.monotonic() - started, path=path, deleted=tuple(deleted))


def _receipt_path(staging: Path, rank: int) -> Path:
    return staging / f"receipt-{rank:05d}.json"


def _collect_receipts(staging: Path, *, world_size: int) -> list[Part]:
    """Wait for the receipts of all ranks, in rank order, and take them away."""
    deadline = time.monotonic() + PEER_TIMEOUT_SECONDS
    parts = []
    for rank in range(world_size):
        path = _receipt_path(staging, rank)
        while not path.exists():
            if time.monotonic() > deadline:
                raise TrainerError(f"rank {rank} did not write its share in {PEER_TIMEOUT_SECONDS:g} s")
            time.sleep(POLL_SECONDS)
        receipt = json.loads(path.read_text(encoding="utf-8"))
        if "problem" in receipt:
            raise TrainerError(f"rank {rank} could not write its share: {receipt['problem']}")
        parts += [Part.model_validate(part) for part in receipt["files"]]
    for rank in range(world_size):
        _receipt_path(staging, rank).unlink()
    return parts
