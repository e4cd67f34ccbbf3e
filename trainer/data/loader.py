"""Batches of token windows for one rank; what a batch holds depends on the position alone."""

from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from trainer.data.manifest import Manifest
from trainer.data.order import windows_at
from trainer.data.shards import TokenSequence
from trainer.errors import DataError

READ_ATTEMPTS = 3

Windows = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """A rank's share of each global batch: `global_batch_sequences / world_size` neighbours."""

    rank: int
    world_size: int
    global_batch_sequences: int

    def positions(self, sequences_seen: int) -> NDArray[np.int64]:
        """Positions this rank reads after `sequences_seen` sequences were consumed by all ranks."""
        share = self.global_batch_sequences // self.world_size
        first = sequences_seen + self.rank * share
        return np.arange(first, first + share, dtype=np.int64)


class TrainLoader:
    """Shuffled windows of the train split, endless; any position is read at once, restarts change nothing.

    Documents are packed: the split is one stream, cut into windows of `sequence_tokens` with one token of
    overlap, so that each token is predicted once a pass.
    """

    def __init__(
        self,
        directory: Path,
        manifest: Manifest,
        *,
        layout: Layout,
        sequence_tokens: int,
        seed: int,
        timeout: float,
    ) -> None:
        self._sequence = TokenSequence(directory, manifest.splits.train)
        self._end_of_text = manifest.tokenizer.end_of_text_id
        self._layout = layout
        self._tokens = sequence_tokens
        self._seed = seed
        self._timeout = timeout
        self.num_windows = count_windows(self._sequence, sequence_tokens, split="train")
        self._pending: tuple[int, Future[Windows]] | None = None

    def batch(self, sequences_seen: int) -> Windows:
        """This rank's windows at a position, shape (share, sequence_tokens + 1); reads the next ones ahead.

        Raises DataError when storage does not answer within the timeout, after retries.
        """
        pending, self._pending = self._pending, None
        first = pending[1] if pending and pending[0] == sequences_seen else None
        windows = self._read_in_time(sequences_seen, first)
        upcoming = sequences_seen + self._layout.global_batch_sequences
        self._pending = (upcoming, _in_background(self, upcoming))
        return windows

    def read(self, sequences_seen: int) -> Windows:
        """Read the windows at a position, with no timeout."""
        return read_windows(self._sequence, self._indices(sequences_seen), sequence_tokens=self._tokens)

    def describe(self, sequences_seen: int) -> list[str]:
        """Name the files and rows of this rank's windows at a position: for error messages."""
        starts = self._indices(sequences_seen) * self._tokens
        count = self._tokens + 1
        return [self._sequence.describe(int(s), count, end_of_text=self._end_of_text) for s in starts]

    def _indices(self, sequences_seen: int) -> NDArray[np.int64]:
        positions = self._layout.positions(sequences_seen)
        return windows_at(positions, num_windows=self.num_windows, seed=self._seed)

    def _read_in_time(self, sequences_seen: int, first: "Future[Windows] | None") -> Windows:
        problem: Exception = TimeoutError()
        for attempt in range(READ_ATTEMPTS):
            future = first if first and attempt == 0 else _in_background(self, sequences_seen)
            try:
                return future.result(timeout=self._timeout)
            except (TimeoutError, OSError) as error:
                problem = error
        raise DataError(
            f"data at sequence {sequences_seen} could not be read in {READ_ATTEMPTS} attempts of "
            f"{self._timeout:g} s each: {str(problem) or 'no answer'}. Check the data volume"
        )


def validation_windows(
    directory: Path, manifest: Manifest, *, num_sequences: int, sequence_tokens: int
) -> Windows:
    """Windows spread evenly over the validation split, the same for every rank and every call.

    Shape (n, sequence_tokens + 1), with n at most `num_sequences`.
    """
    sequence = TokenSequence(directory, manifest.splits.validation)
    available = count_windows(sequence, sequence_tokens, split="validation")
    chosen = np.unique(np.linspace(0, available - 1, min(num_sequences, available)).astype(np.int64))
    return read_windows(sequence, chosen, sequence_tokens=sequence_tokens)


def read_windows(sequence: TokenSequence, indices: NDArray[np.int64], *, sequence_tokens: int) -> Windows:
    """Read windows by index, shape (n, sequence_tokens + 1)."""
    rows = [sequence.read(int(index) * sequence_tokens, sequence_tokens + 1) for index in indices]
    return np.stack(rows).astype(np.int64)


def count_windows(sequence: TokenSequence, sequence_tokens: int, *, split: str) -> int:
    """Whole windows in a split; raises DataError when there is none."""
    count = (len(sequence) - 1) // sequence_tokens
    if count < 1:
        raise DataError(
            f"the {split} split holds {len(sequence)} tokens, one window needs {sequence_tokens + 1}: "
            f"use more text or a smaller training.sequence_tokens"
        )
    return count


def _in_background(loader: TrainLoader, sequences_seen: int) -> "Future[Windows]":
    """Read on a thread that nobody has to wait for: a read from a dead volume never returns."""
    future: Future[Windows] = Future()

    def work() -> None:
        try:
            future.set_result(loader.read(sequences_seen))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=work, daemon=True, name="read-ahead").start()
    return future
