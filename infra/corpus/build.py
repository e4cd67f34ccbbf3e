"""Packages -> clean documents with a lineage: downloaded once, built once, then only read."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from infra.corpus.clean import clean_text, is_prose, parts
from infra.corpus.deduplicate import Deduplicated, Document, deduplicate
from infra.corpus.html_text import html_to_text
from infra.corpus.packages import Progress, fetch_packages, file_sha256, read_files
from infra.corpus.sources import MINIMUM_CLEAN_BYTES, SOURCES, Source
from infra.errors import TrainyardError
from infra.paths import cache_dir

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True)
class Corpus:
    """A built corpus: JSON-lines documents {"text", "source"} and where they come from."""

    directory: Path
    lineage: dict[str, Any]

    @property
    def documents(self) -> Path:
        return self.directory / "documents.jsonl"

    @property
    def lineage_file(self) -> Path:
        return self.directory / "lineage.json"


def build_corpus(
    *,
    progress: Progress,
    sources: Sequence[Source] = SOURCES,
    root: Path | None = None,
    minimum_clean_bytes: int = MINIMUM_CLEAN_BYTES,
) -> Corpus:
    """Return the corpus of `sources`, built below `root` (default: the cache) unless it is there already.

    The same package files give the same bytes. Raises TrainyardError when a package cannot be had or fewer
    than `minimum_clean_bytes` of text are left.
    """
    root = root or cache_dir() / "corpus"
    directory = root / corpus_key(sources)
    if (directory / "lineage.json").is_file():
        return _read(directory)
    archives = fetch_packages(
        [source.package for source in sources], directory=root / "packages", progress=progress
    )
    documents, origins = _extract(sources, archives, progress)
    kept = deduplicate(documents)
    lineage = {"corpus": directory.name, **_lineage(kept, origins)}
    if lineage["num_clean_bytes"] < minimum_clean_bytes:
        raise _too_little(lineage["num_clean_bytes"], minimum_clean_bytes)
    _write(directory, kept.documents, lineage)
    progress(f"corpus: {describe(lineage)}")
    return _read(directory)


def corpus_key(sources: Sequence[Source]) -> str:
    """Name a corpus by what it is made of: the declared sources and the code that extracts and cleans."""
    digest = hashlib.sha256(json.dumps([asdict(source) for source in sources]).encode())
    for module in ("build.py", "clean.py", "deduplicate.py", "html_text.py"):
        digest.update(Path(__file__).with_name(module).read_bytes())
    return digest.hexdigest()[:12]


def describe(lineage: dict[str, Any]) -> str:
    """One line with the counts of a lineage."""
    return (
        f"{lineage['num_documents']:,} documents, {lineage['num_clean_bytes'] / 1e6:.1f} MB of clean text "
        f"from {lineage['num_files']:,} pages of {lineage['num_raw_bytes'] / 1e6:.0f} MB; removed: "
        f"{lineage['num_duplicates']:,} duplicate documents, "
        f"{lineage['num_duplicate_paragraphs']:,} repeated paragraphs"
    )


def _extract(
    sources: Sequence[Source], archives: dict[str, Path], progress: Progress
) -> tuple[list[Document], list[dict[str, Any]]]:
    documents: list[Document] = []
    origins: list[dict[str, Any]] = []
    for source in sources:
        archive = archives[source.package]
        progress(f"corpus: reading {archive.name}")
        pages = sorted(read_files(archive, wanted=source.document_name))
        for name, page in pages:
            documents += _documents(f"{source.package}/{name}", page)
        origins.append(_origin(archive, pages))
    return documents, origins


def _documents(name: str, page: bytes) -> list[Document]:
    text = clean_text(html_to_text(page.decode("utf-8", errors="replace")))
    texts = [part for part in parts(text) if is_prose(part)]
    if len(texts) == 1:
        return [Document(name, texts[0])]
    return [Document(f"{name}#{number}", part) for number, part in enumerate(texts, start=1)]


def _origin(archive: Path, pages: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
    package, version, architecture = unquote(archive.stem).split("_", 2)
    return {
        "package": package,
        "version": version,
        "architecture": architecture,
        "sha256": file_sha256(archive),
        "num_files": len(pages),
        "num_raw_bytes": sum(len(page) for _, page in pages),
    }


def _lineage(kept: Deduplicated, origins: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counts = {origin["package"]: _counts(origin["package"], kept.documents) for origin in origins}
    return {
        "schema_version": SCHEMA_VERSION,
        "num_raw_bytes": sum(origin["num_raw_bytes"] for origin in origins),
        "num_clean_bytes": sum(count["num_clean_bytes"] for count in counts.values()),
        "num_files": sum(origin["num_files"] for origin in origins),
        "num_documents": len(kept.documents),
        "num_duplicates": kept.num_exact_duplicates + kept.num_near_duplicates,
        "num_exact_duplicates": kept.num_exact_duplicates,
        "num_near_duplicates": kept.num_near_duplicates,
        "num_duplicate_paragraphs": kept.num_duplicate_paragraphs,
        "sources": [origin | counts[origin["package"]] for origin in origins],
    }


def _counts(package: str, documents: Iterable[Document]) -> dict[str, int]:
    texts = [document.text for document in documents if document.source.startswith(f"{package}/")]
    sizes = [len(text.encode()) for text in texts]
    return {"num_documents": len(sizes), "num_clean_bytes": sum(sizes)}


def _too_little(num_bytes: int, minimum: int) -> TrainyardError:
    return TrainyardError(
        f"only {num_bytes / 1e6:.1f} MB of clean text are left, at least {minimum / 1e6:.0f} MB are needed",
        next_step="check that the packages in infra/corpus/sources.py still hold their pages where it says",
    )


def _write(directory: Path, documents: Sequence[Document], lineage: dict[str, Any]) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=directory.parent, prefix=".staging-"))
    try:
        with (staging / "documents.jsonl").open("w", encoding="utf-8") as file:
            for document in documents:
                line = {"text": document.text, "source": document.source}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        (staging / "lineage.json").write_text(json.dumps(lineage, indent=2) + "\n", encoding="utf-8")
        staging.chmod(0o755)
        _publish(staging, directory)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, directory: Path) -> None:
    try:
        staging.rename(directory)
    except OSError:
        # another process built the same corpus in the meantime: its bytes are ours
        if not (directory / "lineage.json").is_file():
            raise


def _read(directory: Path) -> Corpus:
    return Corpus(directory, json.loads((directory / "lineage.json").read_text(encoding="utf-8")))
