import json
from pathlib import Path

import pytest

from trainer import files
from trainer.checkpoint import store
from trainer.checkpoint.store import CheckpointManifest, Part


def stage(
    directory: Path, step: int, *, content: bytes = b"weights", attempt: str = "a1"
) -> CheckpointManifest:
    """Fill a staging directory as two ranks would; returns the manifest to commit."""
    staging = store.staging_path(directory, step, attempt=attempt)
    staging.mkdir(parents=True)
    parts = []
    for rank in range(2):
        path = staging / f"rank-{rank:05d}.safetensors"
        path.write_bytes(content + bytes([rank]))
        parts.append(Part(file=path.name, sha256=files.sha256_of(path), num_bytes=path.stat().st_size))
    return CheckpointManifest(
        step=step,
        tokens_seen=step * 100,
        sequences_seen=step * 10,
        elapsed_seconds=1.5,
        layout={"data": 2},
        config_digest="d",
        data_version="v",
        identity={"seed": 1},
        files=tuple(parts),
    )


def save(directory: Path, step: int, *, content: bytes = b"weights", attempt: str = "a1") -> Path:
    manifest = stage(directory, step, content=content, attempt=attempt)
    return store.commit(store.staging_path(directory, step, attempt=attempt), directory, manifest)


def steps(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def newest(directory: Path) -> int | None:
    found, _ = store.newest_whole(directory)
    return found.manifest.step if found else None


def test_a_commit_is_whole_and_found(tmp_path: Path) -> None:
    save(tmp_path, 50)
    path = save(tmp_path, 100)
    assert path == tmp_path / "step-00000100"
    found, problems = store.newest_whole(tmp_path)
    assert found is not None
    assert (found.path, found.manifest.tokens_seen, problems) == (path, 10_000, [])
    marker = (path / "COMMITTED").read_text().strip()
    assert marker == files.sha256_of(path / "manifest.json")
    listed = {item["file"] for item in json.loads((path / "manifest.json").read_text())["files"]}
    assert listed == {"rank-00000.safetensors", "rank-00001.safetensors"}


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    assert store.newest_whole(tmp_path / "none") == (None, [])


def test_without_a_marker_there_is_no_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 50)
    (save(tmp_path, 100) / "COMMITTED").unlink()
    found, problems = store.newest_whole(tmp_path)
    assert found is not None
    assert found.manifest.step == 50
    assert problems == ["step-00000100: not committed"]


def damage_content(path: Path) -> None:
    (path / "rank-00001.safetensors").write_bytes(b"weightX\x01")


def damage_size(path: Path) -> None:
    (path / "rank-00001.safetensors").write_bytes(b"")


def damage_file(path: Path) -> None:
    (path / "rank-00000.safetensors").unlink()


def damage_manifest(path: Path) -> None:
    (path / "manifest.json").write_bytes((path / "manifest.json").read_bytes() + b" ")


def damage_manifest_file(path: Path) -> None:
    (path / "manifest.json").unlink()


def damage_marker(path: Path) -> None:
    (path / "COMMITTED").write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (damage_content, "rank-00001.safetensors does not match its checksum"),
        (damage_size, "rank-00001.safetensors has 0 bytes instead of 8"),
        (damage_file, "rank-00000.safetensors is missing"),
        (damage_manifest, "the manifest differs from the commit marker"),
        (damage_manifest_file, "unreadable"),
        (damage_marker, "not committed"),
    ],
)
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage, expected: str) -> None:
    save(tmp_path, 50)
    damage(save(tmp_path, 100))
    found, problems = store.newest_whole(tmp_path)
    assert found is not None
    assert found.manifest.step == 50
    assert len(problems) == 1
    assert expected in problems[0]


def test_saving_a_step_again_keeps_the_whole_one(tmp_path: Path) -> None:
    path = save(tmp_path, 50, content=b"first")
    assert save(tmp_path, 50, content=b"again", attempt="a2") == path
    assert (path / "rank-00000.safetensors").read_bytes() == b"first\0"
    assert steps(tmp_path) == ["step-00000050"]


@pytest.mark.parametrize("damage", [damage_content, damage_marker])
def test_saving_a_step_again_replaces_a_damaged_one(tmp_path: Path, damage) -> None:
    damage(save(tmp_path, 50))
    path = save(tmp_path, 50, content=b"again", attempt="a2")
    assert store.find_damage(path) is None
    assert (path / "rank-00000.safetensors").read_bytes() == b"again\0"


def test_steps_are_ordered_as_numbers(tmp_path: Path) -> None:
    for step in (99_999_999, 100_000_000):
        save(tmp_path, step)
    assert newest(tmp_path) == 100_000_000


def test_the_last_few_stay(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        save(tmp_path, step)
    assert store.prune(tmp_path, keep_last=2) == ["step-00000010", "step-00000020"]
    assert steps(tmp_path) == ["step-00000030", "step-00000040"]


@pytest.mark.parametrize("keep_last", [0, 1])
def test_the_newest_whole_one_always_stays(tmp_path: Path, keep_last: int) -> None:
    for step in (10, 20):
        save(tmp_path, step)
    store.prune(tmp_path, keep_last=keep_last)
    assert newest(tmp_path) == 20


@pytest.mark.parametrize("damage", [damage_content, damage_size, damage_marker])
def test_nothing_whole_is_lost_while_the_newest_is_damaged(tmp_path: Path, damage) -> None:
    for step in (10, 20):
        save(tmp_path, step)
    damage(save(tmp_path, 30))
    store.prune(tmp_path, keep_last=1)
    assert newest(tmp_path) == 20


def test_leftovers_are_removed_and_whole_ones_are_not(tmp_path: Path) -> None:
    save(tmp_path, 10)
    stage(tmp_path, 20)
    (save(tmp_path, 30) / "COMMITTED").unlink()
    (tmp_path / "notes.txt").write_text("kept")
    assert store.clean_leftovers(tmp_path) == [".staging-step-00000020-a1", "step-00000030"]
    assert steps(tmp_path) == ["notes.txt", "step-00000010"]


def test_a_leftover_of_another_attempt_does_not_disturb(tmp_path: Path) -> None:
    stage(tmp_path, 20, content=b"stale", attempt="a1")
    path = save(tmp_path, 20, content=b"fresh", attempt="a2")
    assert store.find_damage(path) is None
    assert (path / "rank-00000.safetensors").read_bytes() == b"fresh\0"
