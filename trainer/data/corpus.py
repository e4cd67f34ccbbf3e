"""A directory of cleaned text, read as a stream of documents in one fixed order."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainer.errors import DataError


@dataclass(frozen=True)
class Document:
    """One text and where it came from."""

    text: str
    source: str

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.text.encode()).digest()


def corpus_files(directory: Path) -> list[Path]:
    """The `.txt` and `.jsonl` files below a directory, sorted; raises DataError when there are none."""
    if not directory.is_dir():
        raise DataError(f"{directory}: is not a directory")
    files = sorted(
        path for path in directory.rglob("*") if path.suffix in (".txt", ".jsonl") and path.is_file()
    )
    if not files:
        raise DataError(f"{directory}: holds no .txt or .jsonl files")
    return files


def read_documents(directory: Path) -> Iterator[Document]:
    """All non-empty documents: a .txt file is one, a .jsonl file has one a line (`text`, maybe `source`)."""
    for path in corpus_files(directory):
        name = path.relative_to(directory).as_posix()
        documents = _read_lines(path, name) if path.suffix == ".jsonl" else _read_text(path, name)
        yield from (document for document in documents if document.text.strip())


def _read_text(path: Path, name: str) -> Iterator[Document]:
    try:
        yield Document(text=path.read_text(encoding="utf-8"), source=name)
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: is not UTF-8 at byte {error.start}") from error


def _read_lines(path: Path, name: str) -> Iterator[Document]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _parse_line(line, where=f"{name}:{number}", default_source=name)


def _parse_line(line: bytes, *, where: str, default_source: str) -> Document:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: is not JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise DataError(f'{where}: must be an object with a string "text"')
    return Document(text=record["text"], source=str(record.get("source", default_source)))
