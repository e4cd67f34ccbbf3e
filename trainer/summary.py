"""The result of a finished run, beside the baseline it had to beat."""

from pathlib import Path
from statistics import median
from typing import Any

from trainer import bigram, files, metrics
from trainer.checkpoint.store import step_name
from trainer.config import RunConfig
from trainer.data.loader import Windows
from trainer.data.manifest import Manifest
from trainer.data.shards import TokenSequence
from trainer.progress import Progress

SUMMARY_FILE = "summary.json"


def path_of(config: RunConfig) -> Path:
    """Where a run's summary lies."""
    return Path(config.output.directory) / SUMMARY_FILE


def write(
    config: RunConfig,
    progress: Progress,
    *,
    manifest: Manifest,
    validation_loss: float,
    bigram_loss: float,
    model_parameters: int,
) -> dict[str, Any]:
    """Write summary.json; losses are in nats per token."""
    steps = metrics.read_lines(Path(config.output.directory), kind="train")
    summary = {
        "run_id": config.run.id,
        "steps": progress.step,
        "tokens_seen": progress.tokens_seen,
        "train_loss": steps[-1]["loss"] if steps else None,
        "validation_loss": validation_loss,
        "bigram_loss": bigram_loss,
        "tokens_per_second": median(line["tokens_per_second"] for line in steps) if steps else None,
        "wall_seconds": progress.elapsed_seconds,
        "model_parameters": model_parameters,
        "final_checkpoint": step_name(progress.step),
        "data_version": manifest.version,
        "exit": "finished",
    }
    files.write_json(path_of(config), summary)
    return summary


def bigram_baseline(directory: Path, manifest: Manifest, validation: Windows) -> float:
    """Loss of a bigram model of all training tokens, on the very tokens of the validation loss."""
    pieces = TokenSequence(directory, manifest.splits.train).pieces()
    model = bigram.fit(pieces, vocab_size=manifest.vocab_size)
    return model.loss(validation[:, :-1].ravel(), validation[:, 1:].ravel())
