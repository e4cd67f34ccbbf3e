import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer import files
from trainer.__main__ import main
from trainer.data import manifest as manifests
from trainer.data.verify import fill_cache, locate, verify
from trainer.errors import DataError

SHARD = "train-00001.bin"


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    """A copy of the data set that a test may damage."""
    return Path(shutil.copytree(dataset, tmp_path / "tiny"))


def rewrite(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest and give it the version that its content then has."""
    path = directory / manifests.FILE_NAME
    document = json.loads(path.read_text())
    change(document)
    parsed = manifests.Manifest.model_validate_json(json.dumps(document))
    document["version"] = manifests.version_of(parsed.splits.shards(), parsed.tokenizer.sha256)
    path.write_text(json.dumps(document))


def replace_shard(directory: Path, content: bytes) -> None:
    """Replace a shard by one whose size and checksum the manifest confirms."""
    (directory / SHARD).write_bytes(content)

    def confirm(document: dict[str, Any]) -> None:
        document["splits"]["train"]["shards"][1]["sha256"] = files.sha256_of(directory / SHARD)

    rewrite(directory, confirm)


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_whole_data_set_passes(copy: Path) -> None:
    assert verify(copy).version == verify(copy, version=verify(copy).version[:12]).version


def test_a_missing_shard_is_a_wrong_file_count(copy: Path) -> None:
    (copy / SHARD).unlink()
    with pytest.raises(DataError, match=f"file count: .*missing {SHARD}"):
        verify(copy)


def test_a_shard_too_many_is_a_wrong_file_count(copy: Path) -> None:
    (copy / "train-00099.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"file count: train-00099\.bin is not in the manifest"):
        verify(copy)


def test_a_truncated_shard_has_a_wrong_size(copy: Path) -> None:
    (copy / SHARD).write_bytes((copy / SHARD).read_bytes()[:-1])
    with pytest.raises(DataError, match=f"{SHARD}: size in bytes: found"):
        verify(copy)


def test_a_changed_byte_is_a_wrong_checksum(copy: Path) -> None:
    flip_a_byte(copy / SHARD)
    with pytest.raises(DataError, match=f"{SHARD}: checksum: found"):
        verify(copy)


def test_a_missing_row_is_noticed(copy: Path) -> None:
    content = bytearray((copy / SHARD).read_bytes())
    place = next(i for i in range(0, len(content), 2) if content[i : i + 2] == b"\0\0")
    content[place] = 5
    replace_shard(copy, bytes(content))
    with pytest.raises(DataError, match=f"{SHARD}: rows: found"):
        verify(copy)


@pytest.mark.parametrize("wrong", [b"\xff\xff", b"\x05\x00"])
def test_tokens_of_another_format_are_noticed(copy: Path, wrong: bytes) -> None:
    content = (copy / SHARD).read_bytes()
    moved = content[2:4] if wrong == b"\x05\x00" else b"\0\0"
    replace_shard(copy, wrong + moved + content[4:] if wrong == b"\xff\xff" else content[:-2] + wrong)

    def confirm_rows(document: dict[str, Any]) -> None:
        shard = document["splits"]["train"]["shards"][1]
        tokens = list(memoryview((copy / SHARD).read_bytes()).cast("H"))
        document["splits"]["train"]["num_documents"] += tokens.count(0) - shard["num_rows"]
        shard["num_rows"] = tokens.count(0)

    rewrite(copy, confirm_rows)
    with pytest.raises(DataError, match=f"{SHARD}: format: not uint16-tokens"):
        verify(copy)


def test_sums_that_do_not_add_up_are_noticed(copy: Path) -> None:
    rewrite(copy, lambda document: document["splits"]["train"].update(num_documents=1))
    with pytest.raises(DataError, match="rows: the shards of train do not add up"):
        verify(copy)


def test_a_changed_tokenizer_is_noticed(copy: Path) -> None:
    flip_a_byte(copy / manifests.TOKENIZER_FILE)
    with pytest.raises(DataError, match=r"tokenizer\.json: checksum"):
        verify(copy)


def test_another_version_is_refused(copy: Path) -> None:
    with pytest.raises(DataError, match="declared with 000000000000"):
        verify(copy, version="000000000000")


@pytest.mark.parametrize(
    ("content", "expected"),
    [("{", "content: Invalid JSON"), ("{}", "schema_version: Field required"), (None, "cannot be read")],
)
def test_an_unreadable_manifest_is_explained(copy: Path, content: str | None, expected: str) -> None:
    path = copy / manifests.FILE_NAME
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DataError, match=expected):
        verify(copy)


def test_a_manifest_whose_version_names_other_content_is_refused(copy: Path) -> None:
    path = copy / manifests.FILE_NAME
    path.write_text(path.read_text().replace(manifests.read(copy).version, "0" * 16))
    with pytest.raises(DataError, match="does not name the listed content"):
        verify(copy)


def test_another_format_is_refused(copy: Path) -> None:
    path = copy / manifests.FILE_NAME
    path.write_text(path.read_text().replace("uint16-tokens", "uint32-tokens"))
    with pytest.raises(DataError, match="format: 'uint32-tokens' is not supported"):
        verify(copy)


def test_the_cache_is_filled_once(copy: Path, tmp_path: Path) -> None:
    directory, was_there = fill_cache(copy, tmp_path / "cache")
    assert directory == tmp_path / "cache" / f"tiny-{verify(copy).version}"
    assert not was_there
    assert {path.name for path in directory.iterdir()} == {path.name for path in copy.iterdir()}
    assert fill_cache(copy, tmp_path / "cache") == (directory, True)
    assert locate(copy, tmp_path / "cache")[0] == directory
    assert locate(copy, tmp_path / "elsewhere")[0] == copy


def test_a_damaged_cache_is_filled_again(copy: Path, tmp_path: Path) -> None:
    directory, _ = fill_cache(copy, tmp_path / "cache")
    flip_a_byte(directory / SHARD)
    assert fill_cache(copy, tmp_path / "cache") == (directory, False)
    verify(directory)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [directory.name]


def test_a_damaged_data_set_never_reaches_the_cache(copy: Path, tmp_path: Path) -> None:
    flip_a_byte(copy / SHARD)
    with pytest.raises(DataError, match="checksum"):
        fill_cache(copy, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_command_verifies_a_directory_where_it_lies(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "verify", "--dataset", str(copy)]) == 0
    assert f"whole; version {verify(copy).version}" in capsys.readouterr().err
    flip_a_byte(copy / SHARD)
    assert main(["data", "verify", "--dataset", str(copy)]) == 1


def test_the_command_verifies_as_the_run_file_says(
    document: dict[str, Any], copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.yaml"
    document["data"]["dataset"] = str(copy)
    path.write_text(yaml.safe_dump(document))
    assert main(["data", "verify", "--config", str(path)]) == 0
    assert "copied in" in capsys.readouterr().err
    (copy / SHARD).unlink()
    shutil.rmtree(tmp_path / "cache")
    assert main(["data", "verify", "--config", str(path)]) == 1
    assert "error: " in capsys.readouterr().err
    path.write_text("schema_version: 1\n")
    assert main(["data", "verify", "--config", str(path)]) == 78
