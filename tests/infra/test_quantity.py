from decimal import Decimal

import pytest

from infra.quantity import parse_quantity


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("500m", "0.5"),
        ("2", "2"),
        (2, "2"),
        (0.5, "0.5"),
        (4.0, "4"),
        ("1.5Gi", str(3 * 2**29)),
        ("1Ki", "1024"),
        ("1k", "1000"),
        ("1E", "1e18"),
        ("1Ei", str(2**60)),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+1", "1"),
        ("100n", "1e-7"),
        ("100u", "1e-4"),
    ],
)
def test_quantities_are_read_exactly(quantity: object, expected: str) -> None:
    assert parse_quantity(quantity) == Decimal(expected)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Gi",
        "4GB",
        "4gi",
        "1K",
        "1 Gi",
        "-1",
        "nan",
        "Infinity",
        "1e",
        "0x10",
        "1Gi\n",
        "1_0",
        True,
        None,
        [],
    ],
)
def test_what_is_no_quantity_is_none(value: object) -> None:
    assert parse_quantity(value) is None
