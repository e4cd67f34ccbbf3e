from pathlib import Path
from threading import Event

import numpy as np
import pytest

from trainer.data import manifest as manifests
from trainer.data.loader import Layout, TrainLoader, Windows, validation_windows
from trainer.data.shards import TokenSequence
from trainer.errors import DataError

SEQUENCE = 16


def make_loader(
    dataset: Path, *, rank: int = 0, world_size: int = 1, seed: int = 1, kind: type[TrainLoader] = TrainLoader
) -> TrainLoader:
    return kind(
        dataset,
        manifests.read(dataset),
        layout=Layout(rank, world_size, global_batch_sequences=8),
        sequence_tokens=SEQUENCE,
        seed=seed,
        timeout=30.0,
    )


def stream(dataset: Path) -> np.ndarray:
    shards = manifests.read(dataset).splits.train.shards
    return np.concatenate([np.fromfile(dataset / shard.file, dtype="<u2") for shard in shards])


def test_a_batch_depends_on_the_position_alone(dataset: Path) -> None:
    running = make_loader(dataset)
    batches = [running.batch(8 * step) for step in range(90)]
    assert running.num_windows < 90 * 8, "the test must cross into a second pass"
    fresh = make_loader(dataset)
    for step in (89, 3, 30, 30, 0):
        np.testing.assert_array_equal(fresh.batch(8 * step), batches[step])


def test_ranks_divide_the_global_batch(dataset: Path) -> None:
    whole = make_loader(dataset).batch(16)
    parts = [make_loader(dataset, rank=rank, world_size=4).batch(16) for rank in range(4)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_one_pass_predicts_every_token_once(dataset: Path) -> None:
    loader = make_loader(dataset)
    windows = np.concatenate([loader.batch(position) for position in range(0, loader.num_windows, 8)])
    targets = np.sort(windows[: loader.num_windows, 1:].ravel())
    tokens = stream(dataset)[1 : 1 + loader.num_windows * SEQUENCE]
    np.testing.assert_array_equal(targets, np.sort(tokens))


def test_windows_run_across_shards(dataset: Path) -> None:
    sequence = TokenSequence(dataset, manifests.read(dataset).splits.train)
    tokens = stream(dataset)
    border = manifests.read(dataset).splits.train.shards[0].num_tokens
    assert len(sequence) == len(tokens)
    np.testing.assert_array_equal(sequence.read(border - 5, 10), tokens[border - 5 : border + 5])
    np.testing.assert_array_equal(sequence.read(0, len(tokens)), tokens)


def test_the_seed_changes_the_order(dataset: Path) -> None:
    assert not np.array_equal(make_loader(dataset).batch(0), make_loader(dataset, seed=2).batch(0))


def test_rows_are_named_for_error_messages(dataset: Path) -> None:
    manifest = manifests.read(dataset)
    sequence = TokenSequence(dataset, manifest.splits.train)
    first, second = manifest.splits.train.shards[:2]
    assert sequence.describe(0, 2, end_of_text=0) == f"{first.file} row 0"
    assert sequence.describe(first.num_tokens, 2, end_of_text=0) == f"{second.file} row 0"
    last_row = sequence.describe(first.num_tokens - 3, 3, end_of_text=0)
    assert last_row == f"{first.file} row {first.num_rows - 1}"
    whole = sequence.describe(0, first.num_tokens, end_of_text=0)
    assert whole == f"{first.file} rows 0-{first.num_rows - 1}"
    assert len(make_loader(dataset).describe(0)) == 8


def test_validation_windows_are_spread_and_fixed(dataset: Path) -> None:
    manifest = manifests.read(dataset)
    few = validation_windows(dataset, manifest, num_sequences=4, sequence_tokens=SEQUENCE)
    every = validation_windows(dataset, manifest, num_sequences=10_000, sequence_tokens=SEQUENCE)
    assert few.shape == (4, SEQUENCE + 1)
    assert len(every) == (manifest.splits.validation.num_tokens - 1) // SEQUENCE
    np.testing.assert_array_equal(few[[0, -1]], every[[0, -1]])


def test_too_little_text_is_explained(dataset: Path) -> None:
    with pytest.raises(DataError, match="validation split holds"):
        validation_windows(dataset, manifests.read(dataset), num_sequences=1, sequence_tokens=10_000)


class Sometimes(TrainLoader):
    """Its first reads fail or hang."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.behaviour: list[str] = []
        self.never = Event()

    def read(self, sequences_seen: int) -> Windows:
        behaviour = self.behaviour.pop(0) if self.behaviour else "answer"
        if behaviour == "hang":
            self.never.wait()
        if behaviour == "fail":
            raise OSError("input/output error")
        return super().read(sequences_seen)


def test_reads_are_retried(dataset: Path) -> None:
    loader = make_loader(dataset, kind=Sometimes)
    loader.behaviour = ["fail", "fail"]
    np.testing.assert_array_equal(loader.batch(0), make_loader(dataset).batch(0))


@pytest.mark.parametrize(("behaviour", "expected"), [("hang", "no answer"), ("fail", "input/output error")])
def test_a_dead_volume_is_given_up(dataset: Path, behaviour: str, expected: str) -> None:
    loader = make_loader(dataset, kind=Sometimes)
    loader.behaviour = [behaviour] * 3
    loader._timeout = 0.01 if behaviour == "hang" else 30.0
    with pytest.raises(DataError, match=f"3 attempts .*{expected}"):
        loader.batch(0)
    loader.never.set()


def test_a_truncated_shard_is_noticed_before_it_is_mapped(dataset: Path, tmp_path: Path) -> None:
    manifest = manifests.read(dataset)
    for shard in manifest.splits.train.shards:
        (tmp_path / shard.file).write_bytes((dataset / shard.file).read_bytes()[:-2])
    with pytest.raises(DataError, match="the manifest says"):
        TokenSequence(tmp_path, manifest.splits.train)
