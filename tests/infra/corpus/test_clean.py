import unicodedata

import pytest

from infra.corpus.clean import MAXIMUM_CHARS, MINIMUM_CHARS, clean_text, is_prose, parts

SENTENCE = "The scheduler picks the next task from the queue. "


def test_characters_are_normalised() -> None:
    decomposed = unicodedata.normalize("NFD", "é")
    assert clean_text(f"caf{decomposed}\u00a0bar\r\nzero\u200bwidth\x00\x07 \ufeffend\ufffd\ttab") == (
        "café bar\nzerowidth end\ttab"
    )


def test_mail_addresses_are_masked() -> None:
    assert clean_text("Jane Doe <jane.doe@lists.example.org> or x@y.org.") == "Jane Doe <email> or <email>."


def test_blocks_that_lead_to_other_pages_are_dropped() -> None:
    assert clean_text("Prev\n\nThe text.\n\nTable of Contents\n\nLast updated 2022-01-01") == "The text."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SENTENCE * 20, True),
        (SENTENCE, False),
        ("0x1f 0x2e 17:42 | 99.9% " * 60, False),
    ],
)
def test_prose_is_long_and_made_of_letters(text: str, expected: bool) -> None:
    assert is_prose(text) is expected


def test_a_long_document_is_cut_between_paragraphs_into_even_parts() -> None:
    paragraphs = [f"{number} {SENTENCE * 20}".strip() for number in range(100)]
    text = "\n\n".join(paragraphs)
    cut = list(parts(text))
    assert "\n\n".join(cut) == text
    assert len(cut) == 2
    assert all(len(part) <= MAXIMUM_CHARS for part in cut)
    assert min(map(len, cut)) > 0.9 * max(map(len, cut)) > MINIMUM_CHARS


def test_a_short_document_is_one_part_and_an_empty_one_is_none() -> None:
    assert list(parts("one\n\ntwo")) == ["one\n\ntwo"]
    assert list(parts("")) == []
