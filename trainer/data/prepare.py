"""From a directory of cleaned text to a data set directory: tokenizer, shards, manifest."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from trainer import files
from trainer.data import manifest as manifests
from trainer.data import tokenizer as tokenizers
from trainer.data.corpus import Document, corpus_files, read_documents
from trainer.data.manifest import Manifest, Splits
from trainer.data.shards import TOKEN_DTYPE, ShardWriter
from trainer.errors import DataError

RECIPE_VERSION = 1
MIN_VOCAB_SIZE = 257
ENCODE_BATCH = 256

Report = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What decides a data set's content, beside the text."""

    name: str
    vocab_size: int = 8192
    validation_fraction: float = 0.02
    shard_tokens: int = 4 * 2**20


def prepare(
    corpus: Path,
    output: Path,
    *,
    settings: Settings,
    report: Report,
    lineage: dict[str, Any] | None = None,
) -> Manifest:
    """Build the data set directory `output` from `corpus`, or leave it alone when it is up to date.

    The same text and settings give the same files. The directory appears at once, whole. `lineage` is kept in
    the manifest beside what is counted here. Raises DataError for text or settings that cannot be used.
    """
    _check(settings)
    recipe = _recipe(corpus, settings)
    existing = _up_to_date(output, recipe)
    if existing:
        report(f"{output}: up to date (version {existing.version})")
        return existing
    with files.staging_directory(output) as staging:
        manifest = _Build(corpus, staging, settings, report).run(lineage={**(lineage or {}), **recipe})
        files.publish_directory(staging, output)
    report(f"{output}: version {manifest.version}, {manifest.num_tokens:,} tokens")
    return manifest


def read_lineage(path: Path) -> dict[str, Any]:
    """Read a JSON object on where the text came from; raises DataError."""
    try:
        lineage = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(lineage, dict):
        raise DataError(f"{path}: must hold a JSON object")
    return lineage


def _check(settings: Settings) -> None:
    low, high = MIN_VOCAB_SIZE, manifests.MAX_VOCAB_SIZE
    if not low <= settings.vocab_size <= high:
        raise DataError(f"vocabulary size {settings.vocab_size} is not between {low} and {high}")
    if not 0 < settings.validation_fraction < 1:
        raise DataError(f"validation fraction {settings.validation_fraction} is not between 0 and 1")


def _recipe(corpus: Path, settings: Settings) -> dict[str, Any]:
    digest = hashlib.sha256(json.dumps([RECIPE_VERSION, asdict(settings)], sort_keys=True).encode())
    for path in corpus_files(corpus):
        digest.update(f"{path.relative_to(corpus).as_posix()} {files.sha256_of(path)}\n".encode())
    return {"recipe": digest.hexdigest(), "settings": asdict(settings)}


def _up_to_date(output: Path, recipe: dict[str, Any]) -> Manifest | None:
    try:
        manifest = manifests.read(output)
        parts = {shard.file: shard.sha256 for shard in manifest.splits.shards()}
        parts[manifest.tokenizer.file] = manifest.tokenizer.sha256
        whole = all(files.sha256_of(output / name) == checksum for name, checksum in parts.items())
    except (DataError, OSError):
        return None
    return manifest if whole and manifest.lineage.get("recipe") == recipe["recipe"] else None


@dataclass(frozen=True)
class _Survey:
    """What a first pass over the corpus found."""

    validation: frozenset[bytes]
    sources: tuple[str, ...]
    num_documents: int
    num_duplicates: int
    num_bytes: int


@dataclass(frozen=True)
class _Build:
    """One build into a staging directory: three passes over the corpus, nothing but a batch in memory."""

    corpus: Path
    directory: Path
    settings: Settings
    report: Report

    def run(self, *, lineage: dict[str, Any]) -> Manifest:
        self.report(f"reading {self.corpus}")
        survey = self._survey()
        self.report(
            f"{survey.num_documents:,} documents, {survey.num_bytes / 1e6:.1f} MB; training the tokenizer"
        )
        tokenizer = self._train_tokenizer(survey)
        splits = self._write_shards(survey, tokenizer)
        manifest = self._describe(splits, survey, vocab_size=tokenizer.get_vocab_size(), lineage=lineage)
        files.write_json(self.directory / manifests.FILE_NAME, manifest.model_dump(mode="json"))
        return manifest

    def _survey(self) -> _Survey:
        sizes: dict[bytes, int] = {}
        sources: set[str] = set()
        num_read = 0
        for document in read_documents(self.corpus):
            num_read += 1
            sources.add(document.source)
            sizes[document.digest] = len(document.text.encode())
        if len(sizes) < 2:
            raise DataError(f"{self.corpus}: holds {len(sizes)} distinct document(s); at least 2 are needed")
        return _Survey(
            validation=_choose_validation(sizes, fraction=self.settings.validation_fraction),
            sources=tuple(sorted(sources)),
            num_documents=len(sizes),
            num_duplicates=num_read - len(sizes),
            num_bytes=sum(sizes.values()),
        )

    def _train_tokenizer(self, survey: _Survey) -> Tokenizer:
        texts = (item.document.text for item in self._items(survey) if item.split == "train")
        tokenizer = tokenizers.train(texts, vocab_size=self.settings.vocab_size)
        tokenizer.save(str(self.directory / manifests.TOKENIZER_FILE))
        return tokenizer

    def _write_shards(self, survey: _Survey, tokenizer: Tokenizer) -> Splits:
        train, validation = (
            ShardWriter(self.directory, split=split, shard_tokens=self.settings.shard_tokens)
            for split in ("train", "validation")
        )
        num_written = 0
        for batch in _batches(self._items(survey), size=ENCODE_BATCH):
            encodings = tokenizer.encode_batch([item.document.text for item in batch])
            for item, encoding in zip(batch, encodings, strict=True):
                tokens = np.array([*encoding.ids, tokenizers.END_OF_TEXT_ID], dtype=TOKEN_DTYPE)
                (train if item.split == "train" else validation).append(tokens)
            num_written += len(batch)
            self.report(f"encoded {num_written:,} of {survey.num_documents:,} documents")
        return Splits(train=train.finish(), validation=validation.finish())

    def _items(self, survey: _Survey) -> Iterator["_Item"]:
        """Every distinct document once, with its split."""
        seen: set[bytes] = set()
        for document in read_documents(self.corpus):
            digest = document.digest
            if digest not in seen:
                seen.add(digest)
                yield _Item(document, "validation" if digest in survey.validation else "train")

    def _describe(
        self, splits: Splits, survey: _Survey, *, vocab_size: int, lineage: dict[str, Any]
    ) -> Manifest:
        checksum = files.sha256_of(self.directory / manifests.TOKENIZER_FILE)
        counted = {
            "sources": list(survey.sources),
            "num_clean_bytes": survey.num_bytes,
            "num_exact_duplicates": survey.num_duplicates,
        }
        return Manifest(
            schema_version=1,
            name=self.settings.name,
            version=manifests.version_of(splits.shards(), checksum),
            format=manifests.TOKEN_FORMAT,
            vocab_size=vocab_size,
            num_documents=splits.train.num_documents + splits.validation.num_documents,
            num_tokens=splits.train.num_tokens + splits.validation.num_tokens,
            tokenizer=manifests.Tokenizer(
                file=manifests.TOKENIZER_FILE,
                sha256=checksum,
                end_of_text=tokenizers.END_OF_TEXT,
                end_of_text_id=tokenizers.END_OF_TEXT_ID,
            ),
            splits=splits,
            lineage={**counted, **lineage},
        )


@dataclass(frozen=True)
class _Item:
    document: Document
    split: Literal["train", "validation"]


def _choose_validation(sizes: dict[bytes, int], *, fraction: float) -> frozenset[bytes]:
    """Hold out documents in the order of their hashes while they fit into the fraction of bytes."""
    budget = fraction * sum(sizes.values())
    chosen: set[bytes] = set()
    for digest in sorted(sizes):
        if sizes[digest] <= budget:
            chosen.add(digest)
            budget -= sizes[digest]
    return frozenset(chosen) or frozenset({min(sizes, key=lambda digest: (sizes[digest], digest))})


def _batches(items: Iterator[_Item], *, size: int) -> Iterator[list[_Item]]:
    while batch := list(islice(items, size)):
        yield batch
