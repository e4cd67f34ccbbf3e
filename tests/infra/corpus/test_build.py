import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from infra.corpus.build import build_corpus, corpus_key
from infra.corpus.sources import Source
from infra.errors import TrainyardError

GUIDE = Source(package="guide", root="usr/share/guide")
MANUAL = Source(package="manual", root="usr/share/manual", exclude=("index.html",))


def page(*subjects: str) -> str:
    paragraphs = [
        f"<p>The {subject} keeps a queue and hands each request to an idle worker. </p>"
        for subject in subjects
    ]
    return f"<body><h1>{subjects[0]}</h1>{''.join(paragraphs * 3)}<p>Ask admin@example.org.</p></body>"


SUBJECTS = (
    "server client router switch gateway printer scanner plotter",
    "disk tape drum card film page wire reel",
)


@pytest.fixture
def packages(archive: Any) -> Any:
    first, second = (subjects.split() for subjects in SUBJECTS)
    archive.add(
        "guide_2-1_all.deb",
        {"usr/share/guide/b.html": page(*second), "usr/share/guide/a.html": page(*first), "etc/x.html": "no"},
    )
    archive.add(
        "manual_1_all.deb",
        {"usr/share/manual/copy.html": page(*first), "usr/share/manual/index.html": page("index", *second)},
    )
    return archive


def build(root: Path) -> Any:
    return build_corpus(progress=lambda _: None, sources=[GUIDE, MANUAL], root=root, minimum_clean_bytes=1)


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_documents_are_clean_unique_and_in_order(packages: Any, tmp_path: Path) -> None:
    documents = read(build(tmp_path / "out").documents)
    assert [document["source"] for document in documents] == ["guide/a.html", "guide/b.html"]
    assert documents[0]["text"].startswith("server\n\nThe server keeps a queue")
    assert documents[0]["text"].endswith("Ask <email>.")


def test_the_lineage_names_packages_and_counts(packages: Any, tmp_path: Path) -> None:
    corpus = build(tmp_path / "out")
    lineage = json.loads(corpus.lineage_file.read_text())
    texts = [document["text"].encode() for document in read(corpus.documents)]
    guide, manual = lineage["sources"]
    assert (guide["package"], guide["version"], guide["num_documents"]) == ("guide", "2-1", 2)
    assert (
        guide["sha256"] == hashlib.sha256((packages.directory / "guide_2-1_all.deb").read_bytes()).hexdigest()
    )
    assert (manual["num_files"], manual["num_documents"]) == (1, 0)
    assert lineage["num_clean_bytes"] == sum(map(len, texts))
    assert lineage["num_raw_bytes"] == guide["num_raw_bytes"] + manual["num_raw_bytes"]
    assert (lineage["num_documents"], lineage["num_exact_duplicates"], lineage["num_duplicates"]) == (2, 1, 1)


def test_the_same_packages_give_the_same_bytes(packages: Any, tmp_path: Path) -> None:
    first, second = build(tmp_path / "one"), build(tmp_path / "two")
    for name in ("documents.jsonl", "lineage.json"):
        assert (first.directory / name).read_bytes() == (second.directory / name).read_bytes()


def test_a_built_corpus_is_read_without_asking_apt(packages: Any, tmp_path: Path) -> None:
    first = build(tmp_path / "out")
    num_calls = len(packages.calls())
    assert build(tmp_path / "out") == first
    assert len(packages.calls()) == num_calls


def test_too_little_text_is_an_error_and_leaves_no_corpus(packages: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainyardError, match=r"only 0\.0 MB of clean text"):
        build_corpus(progress=lambda _: None, sources=[GUIDE], root=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["packages"]


def test_a_build_that_breaks_off_leaves_no_corpus(
    packages: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any, **options: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("infra.corpus.build.json.dumps", interrupt)
    monkeypatch.setattr("infra.corpus.build.corpus_key", lambda sources: "key")
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["packages"]


def test_the_key_follows_the_declaration() -> None:
    assert corpus_key([GUIDE]) == corpus_key([GUIDE])
    assert len({corpus_key([GUIDE]), corpus_key([MANUAL]), corpus_key([GUIDE, MANUAL])}) == 3
