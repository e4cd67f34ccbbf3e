"""Removal of exact and near duplicates, by hashes of documents and paragraphs; the first occurrence stays."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from infra.corpus.clean import is_prose, paragraphs

MINIMUM_PARAGRAPH_CHARS: Final = 80
MAXIMUM_REPEATED_SHARE: Final = 0.5


@dataclass(frozen=True)
class Document:
    """One text and where it comes from: the package and the path of the page in it."""

    source: str
    text: str


@dataclass
class Deduplicated:
    """Documents that are left, and what went."""

    documents: list[Document] = field(default_factory=list)
    num_exact_duplicates: int = 0
    num_near_duplicates: int = 0
    num_duplicate_paragraphs: int = 0


def deduplicate(documents: Iterable[Document]) -> Deduplicated:
    """Keep each text once, in the order given.

    A document whose normalised text was seen is an exact duplicate. Long paragraphs that an earlier document
    holds are removed; when they make more than half of a document, or what is left is too short to be of
    use, the whole document goes as a near duplicate.
    """
    kept = Deduplicated()
    seen_documents: set[bytes] = set()
    seen_paragraphs: set[bytes] = set()
    for document in documents:
        digest = _digest(document.text)
        if digest in seen_documents:
            kept.num_exact_duplicates += 1
            continue
        seen_documents.add(digest)
        _add(kept, document, seen_paragraphs)
    return kept


def _add(kept: Deduplicated, document: Document, seen: set[bytes]) -> None:
    fresh: list[str] = []
    digests: set[bytes] = set()
    num_repeated = 0
    for paragraph in paragraphs(document.text):
        digest = _digest(paragraph)
        if len(paragraph) >= MINIMUM_PARAGRAPH_CHARS and (digest in seen or digest in digests):
            num_repeated += 1
        else:
            digests.add(digest)
            fresh.append(paragraph)
    text = "\n\n".join(fresh)
    if num_repeated and _little_is_left(text, of=document.text):
        kept.num_near_duplicates += 1
        return
    seen |= digests
    kept.num_duplicate_paragraphs += num_repeated
    kept.documents.append(Document(document.source, text))


def _little_is_left(text: str, *, of: str) -> bool:
    return len(text) < (1 - MAXIMUM_REPEATED_SHARE) * len(of) or not is_prose(text)


def _digest(text: str) -> bytes:
    normalised = re.sub(r"\W+", " ", text.casefold()).strip()
    return hashlib.sha256(normalised.encode()).digest()[:16]
