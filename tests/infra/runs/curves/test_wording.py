from typing import Any

import pytest

from infra.runs.curves import wording


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12.3 ms"), (12.44, "12.4 s"), (185, "3 min 05 s"), (7620, "2 h 07 min"), (273600, "3 d 4 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not recorded"),
        ("", "not recorded"),
        (0, "0"),
        (False, "no"),
        ([1, "a"], "1, a"),
        (1e-5, "1e-05"),
    ],
)
def test_any_value_has_a_text(value: Any, text: str) -> None:
    assert wording.text(value) == text


def test_moments_are_in_utc() -> None:
    assert wording.moment("2026-12-01T16:00:00+01:00") == "2026-12-01 15:00:00 UTC"
    assert wording.moment(0) == "1970-01-01 00:00:00 UTC"
    assert wording.moment("yesterday") == "yesterday"
    assert wording.moment(None) == "not recorded"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1,023 B"), (61203456, "58.4 MiB"), (2**50, "1,024 TiB")]
)
def test_sizes(size: int, text: str) -> None:
    assert wording.num_bytes(size) == text


def test_a_path_through_missing_parts_finds_nothing() -> None:
    record = {"data": {"name": "docs"}, "summary": None}
    assert wording.lookup(record, "data.name") == "docs"
    assert wording.lookup(record, "summary.validation_loss") is None
    assert wording.lookup(record, "data.name.first") is None
