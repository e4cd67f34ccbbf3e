"""The base of every section of a stack file, and how its errors read."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from infra.errors import InvalidInput

T = TypeVar("T", bound=BaseModel)


class Section(BaseModel):
    """A frozen part of a stack file; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def parse_section(model: type[T], value: Any, *, origin: str) -> T:
    """Validate `value`; raises `InvalidInput` naming `origin` and each field's path."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{origin}: expected a mapping, got {type(value).__name__}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidInput(f"{origin}: {describe(error)}", next_step="trainyard schema") from None


def describe(error: ValidationError) -> str:
    """Each problem as `field.path: cause`, one a line."""
    return "\n  ".join(_one_line(problem) for problem in error.errors(include_url=False))


def _one_line(problem: Any) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = "no such field; check the spelling"
    got = problem.get("input")
    shown = f" (got {got!r})" if isinstance(got, str | int | float | bool) else ""
    return f"{path.lstrip('.') or 'file'}: {message}{shown}"
