"""What makes extracted text fit to train on: normalised characters, prose, a sensible length."""

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

MINIMUM_CHARS: Final = 400
MAXIMUM_CHARS: Final = 60_000
MINIMUM_LETTER_SHARE: Final = 0.6

EMAIL = re.compile(r"<?\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b>?", re.IGNORECASE)
BOILERPLATE = re.compile(
    r"prev(?:ious)?|next|up|home|index|copyright|©.*|last updated .*|table of contents|part of the .* suite",
    re.IGNORECASE,
)
KEPT_CONTROLS: Final = frozenset("\n\t")
DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
REPLACEMENT_CHARACTER: Final = "\ufffd"


def clean_text(text: str) -> str:
    """Normalise `text`: NFC, plain blanks and line ends, no control characters, masked e-mail addresses.

    Blocks that only lead to other pages ("Next", "Table of Contents") are dropped.
    """
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = EMAIL.sub("<email>", _plain_characters(text))
    return "\n\n".join(block for block in paragraphs(text) if not BOILERPLATE.fullmatch(block.strip()))


def paragraphs(text: str) -> list[str]:
    """Split `text` at blank lines; line ends are trimmed and empty paragraphs left out."""
    trimmed = "\n".join(line.rstrip() for line in text.split("\n"))
    return [block.strip("\n") for block in re.split(r"\n{2,}", trimmed) if block.strip()]


def is_prose(text: str) -> bool:
    """Say whether `text` is long enough and made of letters rather than of numbers and punctuation."""
    if len(text) < MINIMUM_CHARS:
        return False
    letters = sum(map(str.isalpha, text))
    visible = len(text) - sum(map(str.isspace, text))
    return letters >= MINIMUM_LETTER_SHARE * visible


def parts(text: str) -> Iterator[str]:
    """Cut a document longer than `MAXIMUM_CHARS` between paragraphs into parts of about equal size, in order.

    A single paragraph that is longer than a part stays whole.
    """
    target = len(text) / max(1, math.ceil(len(text) / MAXIMUM_CHARS))
    part: list[str] = []
    size = 0
    for paragraph in paragraphs(text):
        if part and size + len(paragraph) / 2 > target:
            yield "\n\n".join(part)
            part, size = [], 0
        part.append(paragraph)
        size += len(paragraph) + 2
    if part:
        yield "\n\n".join(part)


def _plain_characters(text: str) -> str:
    return text.translate({ord(character): _replacement(character) for character in set(text)})


def _replacement(character: str) -> str:
    if character in KEPT_CONTROLS:
        return character
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category in {"Zl", "Zp"}:
        return "\n"
    dropped = category in DROPPED_CATEGORIES or character == REPLACEMENT_CHARACTER
    return "" if dropped else character
