"""Between the loop and the checkpoints: when to save, what belongs in a manifest, where to resume."""

import hashlib
import time
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from trainer.adapters import Adapter
from trainer.checkpoint import state, store
from trainer.checkpoint.saver import Outcome, Saver
from trainer.checkpoint.store import Checkpoint, CheckpointManifest
from trainer.config import RunConfig
from trainer.errors import IncompatibleCheckpoint, TrainerError
from trainer.metrics import Recorder
from trainer.optimizer import AdamW
from trainer.parallelize import broadcast_object, gather_objects, rank, world_size
from trainer.progress import Progress


class State(Protocol):
    """What a checkpoint holds."""

    config: RunConfig
    adapter: Adapter
    model: Any
    optimizer: AdamW
    progress: Progress


class Checkpointer:
    """Saves in the background during training, and waits for the disk when a run ends."""

    def __init__(
        self, config: RunConfig, saver: Saver, recorder: Recorder, *, identity: dict[str, Any]
    ) -> None:
        self._config = config
        self._saver = saver
        self._recorder = recorder
        self._identity = identity
        self._blocked_seconds = 0.0
        self._saved_step = -1

    @property
    def saving(self) -> bool:
        """Whether this rank still writes an earlier checkpoint."""
        return self._saver.busy

    def save(self, training: State, *, still_saving: bool) -> None:
        """Snapshot the state and write it in the background; skipped while any rank still writes one."""
        step = training.progress.step
        if still_saving:
            detail = f"step {step} was not saved: storage still writes the one before"
            self._recorder.event("checkpoint_skipped", detail=detail, step=step)
            return
        started = time.perf_counter()
        share = state.snapshot(
            training.model, training.optimizer, adapter=training.adapter, rank=rank(), world_size=world_size()
        )
        self._saver.start(share, self._manifest(training.progress))
        self._saved_step = step
        self._blocked_seconds += time.perf_counter() - started

    def save_and_wait(self, training: State) -> None:
        """Save the present step and return when it is committed; raises TrainerError where that failed."""
        self._saver.wait()
        outcomes = self._report()
        if self._saved_step != training.progress.step:
            self.save(training, still_saving=False)
            self._saver.wait()
            outcomes = self._report()
        problems = [problem for problem in gather_objects(_problem(outcomes)) if problem]
        if problems:
            raise TrainerError(f"checkpoint of step {training.progress.step} failed: {problems[0]}")

    def report(self) -> None:
        """Record saves that ended since the last call."""
        self._report()

    def take_blocked_seconds(self) -> float:
        """Seconds that snapshots held up training since the last call."""
        seconds, self._blocked_seconds = self._blocked_seconds, 0.0
        return seconds

    def _report(self) -> list[Outcome]:
        outcomes = self._saver.finished()
        for outcome in outcomes:
            if outcome.problem:
                line = f"rank {rank()}: checkpoint of step {outcome.step} failed: {outcome.problem}"
                self._recorder.say(line, any_rank=True)
                self._recorder.event("checkpoint_failed", detail=line, step=outcome.step)
            elif outcome.path:
                detail = f"{outcome.path.name} committed in {outcome.seconds:.1f} s"
                self._recorder.checkpoint(step=outcome.step, detail=detail)
                self._recorder.say(detail)
        return outcomes

    def _manifest(self, progress: Progress) -> CheckpointManifest:
        return CheckpointManifest(
            step=progress.step,
            tokens_seen=progress.tokens_seen,
            sequences_seen=progress.sequences_seen,
            elapsed_seconds=progress.elapsed_seconds,
            layout={**self._config.parallel.model_dump(), "world_size": world_size()},
            config_digest=hashlib.sha256(self._config.model_dump_json().encode()).hexdigest(),
            data_version=self._identity["data_version"],
            identity=self._identity,
            files=(),
        )


def identity_of(config: RunConfig, *, vocab_size: int, data_version: str) -> dict[str, Any]:
    """What a checkpoint and a run must agree on for the one to continue the other."""
    return {
        "model": {**config.model.model_dump(), "vocab_size": vocab_size},
        "data_version": data_version,
        "seed": config.run.seed,
        "sequence_tokens": config.training.sequence_tokens,
    }


def find_checkpoint(directory: Path, recorder: Recorder) -> Checkpoint | None:
    """The newest whole checkpoint, chosen by rank 0 for all; damaged ones are recorded and passed over."""
    found: Checkpoint | None = None
    if rank() == 0:
        directory.mkdir(parents=True, exist_ok=True)
        found, problems = store.newest_whole(directory)
        for problem in problems:
            recorder.event("checkpoint_passed_over", detail=problem)
            recorder.say(f"passed over {problem}")
        store.clean_leftovers(directory)
    return broadcast_object(found)


def resume(
    checkpoint: Checkpoint,
    model: nn.Module,
    optimizer: AdamW,
    *,
    adapter: Adapter,
    identity: dict[str, Any],
) -> Progress:
    """Restore the whole state; raises IncompatibleCheckpoint when it belongs to another model or data set."""
    differences = differing_fields(checkpoint.manifest.identity, identity)
    if differences:
        raise IncompatibleCheckpoint(
            f"{checkpoint.path} cannot be continued by this run:\n"
            + "\n".join(f"  {difference}" for difference in differences)
            + "\nUse another checkpoint directory to start afresh, or restore these settings"
        )
    state.restore(checkpoint, model, optimizer, adapter=adapter, rank=rank())
    manifest = checkpoint.manifest
    return Progress(manifest.step, manifest.sequences_seen, manifest.tokens_seen, manifest.elapsed_seconds)


def differing_fields(theirs: dict[str, Any], ours: dict[str, Any], *, path: str = "") -> list[str]:
    """Lines of `field: checkpoint has x, this run has y`."""
    lines = []
    for key in sorted(theirs.keys() | ours.keys()):
        where, before, after = f"{path}{key}", theirs.get(key), ours.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            lines += differing_fields(before, after, path=f"{where}.")
        elif before != after:
            lines.append(f"{where}: the checkpoint has {before}, this run has {after}")
    return lines


def _problem(outcomes: list[Outcome]) -> str | None:
    return next((outcome.problem for outcome in outcomes if outcome.problem), None)
