import json
from pathlib import Path

import numpy as np
import pytest

from trainer.__main__ import main
from trainer.data import manifest as manifests
from trainer.data import tokenizer as tokenizers
from trainer.data.prepare import Settings, prepare
from trainer.data.verify import verify
from trainer.errors import DataError

SETTINGS = Settings(name="tiny", vocab_size=300, validation_fraction=0.1, shard_tokens=1500)


def quiet(line: str) -> None:
    pass


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def texts_of(directory: Path, split: manifests.Split) -> list[str]:
    """Decode a split back to its documents."""
    tokenizer = tokenizers.load(directory / manifests.TOKENIZER_FILE)
    tokens = np.concatenate([np.fromfile(directory / shard.file, dtype="<u2") for shard in split.shards])
    ends = np.flatnonzero(tokens == tokenizers.END_OF_TEXT_ID) + 1
    rows = np.split(tokens, ends)[:-1]
    return [tokenizer.decode(row[:-1].tolist(), skip_special_tokens=False) for row in rows]


def test_the_data_set_is_whole_and_decodes_to_the_corpus(corpus: Path, dataset: Path) -> None:
    manifest = verify(dataset)
    expected = {json.loads(line)["text"] for line in (corpus / "docs.jsonl").read_text().splitlines()}
    train, validation = (
        texts_of(dataset, split) for split in (manifest.splits.train, manifest.splits.validation)
    )
    assert len(manifest.splits.train.shards) > 1
    assert set(train) | set(validation) == expected
    assert not set(train) & set(validation)
    assert manifest.num_documents == len(train) + len(validation) == 80
    assert manifest.lineage["sources"] == ["book-0", "book-1", "book-2"]
    held_out = sum(len(text) for text in validation) / sum(map(len, expected))
    assert 0.05 < held_out <= 0.1


def test_the_same_input_gives_the_same_files(corpus: Path, dataset: Path, tmp_path: Path) -> None:
    prepare(corpus, tmp_path / "again", settings=SETTINGS, report=quiet)
    assert contents(tmp_path / "again") == contents(dataset)


def test_nothing_is_rebuilt_when_nothing_changed(corpus: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    first = prepare(corpus, tmp_path / "tiny", settings=SETTINGS, report=lines.append)
    inode = (tmp_path / "tiny").stat().st_ino
    lines.clear()
    second = prepare(corpus, tmp_path / "tiny", settings=SETTINGS, report=lines.append)
    assert second == first
    assert (tmp_path / "tiny").stat().st_ino == inode
    assert len(lines) == 1
    assert "up to date" in lines[0]


def test_other_settings_or_damage_rebuild_and_replace(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "tiny"
    first = prepare(corpus, output, settings=SETTINGS, report=quiet)
    other = Settings(name="tiny", vocab_size=310, validation_fraction=0.1)
    second = prepare(corpus, output, settings=other, report=quiet)
    assert second.version != first.version
    assert verify(output) == second
    (output / "train-00000.bin").write_bytes(b"")
    assert prepare(corpus, output, settings=other, report=quiet) == second
    assert verify(output) == second
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"], "no staging directory is left"


def test_text_cannot_forge_the_end_of_a_document(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    forged = f"one {tokenizers.END_OF_TEXT} two"
    (corpus / "a.txt").write_text(forged)
    (corpus / "b.txt").write_text("plain text, plain words")
    manifest = prepare(corpus, tmp_path / "out", settings=SETTINGS, report=quiet)
    splits = (manifest.splits.train, manifest.splits.validation)
    assert forged in [text for split in splits for text in texts_of(tmp_path / "out", split)]
    assert manifest.num_documents == 2


def test_exact_duplicates_and_empty_documents_are_dropped(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    lines = [{"text": text} for text in ("alpha beta", "gamma", "alpha beta", "  \n")]
    (corpus / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    manifest = prepare(corpus, tmp_path / "out", settings=SETTINGS, report=quiet)
    assert manifest.num_documents == 2
    assert manifest.lineage["num_exact_duplicates"] == 1


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"txt": "y"}\n', r"a\.jsonl:2: must be an object"),
        ("a.jsonl", b'{"text": "x"}\nnot json\n', r"a\.jsonl:2: is not JSON"),
        ("a.txt", b"ok \xff", r"a\.txt: is not UTF-8 at byte 3"),
        ("a.md", b"text", r"no \.txt or \.jsonl files"),
        ("a.txt", b"only one", "1 distinct document"),
    ],
)
def test_unusable_text_is_explained(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / name).write_bytes(content)
    with pytest.raises(DataError, match=expected):
        prepare(corpus, tmp_path / "out", settings=SETTINGS, report=quiet)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("settings", [Settings("x", vocab_size=10), Settings("x", validation_fraction=1.0)])
def test_impossible_settings_are_refused(corpus: Path, tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(DataError, match="is not between"):
        prepare(corpus, tmp_path / "out", settings=settings, report=quiet)


def test_the_command_prints_directory_and_version(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = tmp_path / "lineage.json"
    lineage.write_text('{"num_raw_bytes": 5}')
    arguments = ["data", "prepare", "--input", str(corpus), "--name", "tiny", "--vocab-size", "300"]
    for output in (tmp_path / "sets", tmp_path / "sets" / "tiny"):
        assert main([*arguments, "--output", str(output), "--lineage", str(lineage)]) == 0
        manifest = manifests.read(tmp_path / "sets" / "tiny")
        printed = json.loads(capsys.readouterr().out)
        assert printed == {"dataset": str(tmp_path / "sets" / "tiny"), "version": manifest.version}
    assert manifest.lineage["num_raw_bytes"] == 5


def test_the_command_explains_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "data",
        "prepare",
        "--input",
        str(tmp_path / "none"),
        "--output",
        str(tmp_path),
        "--name",
        "x",
    ]
    assert main(arguments) == 1
    assert capsys.readouterr().err == f"error: {tmp_path / 'none'}: is not a directory\n"
