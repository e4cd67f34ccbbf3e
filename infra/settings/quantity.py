"""Quantities in stack and run files, checked as they are read."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from infra.quantity import parse_quantity


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _positive(value: str) -> str:
    parsed = parse_quantity(value)
    if parsed is None:
        raise ValueError("not a quantity; write it as 500m, 2 or 4Gi")
    if parsed <= 0:
        raise ValueError("must be above zero")
    return value


Quantity = Annotated[str, BeforeValidator(_as_text), AfterValidator(_positive)]


def amount(quantity: str) -> float:
    """A checked quantity as a number: cores for cpu, bytes for memory."""
    return float(parse_quantity(quantity) or 0)
