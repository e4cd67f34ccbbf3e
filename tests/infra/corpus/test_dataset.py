import json
from pathlib import Path
from typing import Any

import pytest

from infra.corpus import dataset
from infra.corpus.build import Corpus
from infra.corpus.dataset import dataset_dir, push_dataset, verify_dataset
from infra.errors import InvalidInput, TrainyardError

TEXT = "The scheduler keeps a queue of tasks, and number {0} of them waits for worker {0} to be idle again. "


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    directory = tmp_path / "corpus"
    directory.mkdir()
    documents = [{"text": TEXT.format(number) * 5, "source": f"guide/{number}.html"} for number in range(60)]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    (directory / "documents.jsonl").write_text(lines)
    lineage = {"corpus": "current", "sources": [{"package": "guide", "version": "1"}]}
    (directory / "lineage.json").write_text(json.dumps(lineage))
    built = Corpus(directory, lineage)
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(dataset, "build_corpus", lambda *, progress: built)
    monkeypatch.setattr(dataset, "corpus_key", lambda sources: "current")
    return built


def push(**options: Any) -> dataset.Dataset:
    return push_dataset("debian-docs", progress=lambda _: None, vocab_size=300, **options)


def test_push_makes_a_verified_data_set_that_pods_can_read(corpus: Corpus) -> None:
    pushed = push()
    assert pushed.directory == dataset_dir("debian-docs")
    assert pushed.manifest["num_documents"] == 60
    assert pushed.manifest["lineage"]["sources"] == [{"package": "guide", "version": "1"}]
    assert pushed.is_current
    assert "60 documents" in pushed.describe() and pushed.version in pushed.describe()
    assert pushed.directory.stat().st_mode & 0o777 == 0o755
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in pushed.directory.iterdir())


def test_what_is_in_the_vault_is_left_alone(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    first = push()
    monkeypatch.delattr(dataset, "build_corpus")
    monkeypatch.setattr(dataset, "corpus_key", lambda sources: "another")
    again = push()
    assert again == first
    assert not again.is_current


def test_damage_is_found_and_replace_mends_it(corpus: Corpus) -> None:
    first = push()
    shard = first.directory / "train-00000.bin"
    shard.write_bytes(b"\0" + shard.read_bytes()[1:])
    for attempt in (push, lambda: verify_dataset("debian-docs")):
        with pytest.raises(TrainyardError, match=r"not whole: .*train-00000\.bin: checksum") as caught:
            attempt()
        assert "--replace" in caught.value.next_step
    assert push(replace=True) == first


def test_the_trainers_reason_is_shown(corpus: Corpus) -> None:
    (corpus.directory / "documents.jsonl").write_text("not json\n")
    with pytest.raises(TrainyardError, match=r"could not be prepared: documents\.jsonl:1: is not JSON"):
        push()
    assert not dataset_dir("debian-docs").exists()


def test_only_the_corpus_can_be_made(corpus: Corpus) -> None:
    with pytest.raises(InvalidInput, match="makes only 'debian-docs'") as caught:
        push_dataset("novels", progress=lambda _: None)
    assert "trainer data prepare" in caught.value.next_step


def test_without_the_trainers_libraries_the_next_step_is_named(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "NEEDED_MODULES", ("no_such_module",))
    with pytest.raises(TrainyardError, match="no_such_module") as caught:
        push()
    assert caught.value.next_step == "make setup"


def test_verify_needs_a_data_set(corpus: Corpus) -> None:
    with pytest.raises(TrainyardError, match="not in the vault"):
        verify_dataset("debian-docs")
