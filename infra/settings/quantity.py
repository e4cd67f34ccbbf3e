"""Kubernetes quantities such as 500m, 2 or 4Gi, checked as they are read."""

from typing import Annotated

from kubernetes.utils.quantity import parse_quantity
from pydantic import AfterValidator, BeforeValidator


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _positive(value: str) -> str:
    try:
        amount = parse_quantity(value)
    except ValueError:
        raise ValueError("not a quantity; write it as 500m, 2 or 4Gi") from None
    if amount <= 0:
        raise ValueError("must be above zero")
    return value


Quantity = Annotated[str, BeforeValidator(_as_text), AfterValidator(_positive)]


def amount(quantity: str) -> float:
    """The quantity as a number: cores for cpu, bytes for memory."""
    return float(parse_quantity(quantity))
