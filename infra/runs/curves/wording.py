"""How values read in a report; what is missing reads "not recorded"."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from infra.runs.curves.history import number

NOT_RECORDED: Final = "not recorded"
BYTE_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def lookup(record: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None when any part of the path is missing."""
    value: Any = record
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text(value: object) -> str:
    """Any value of a record as one line."""
    if value is None or value == "" or value == {} or value == []:
        return NOT_RECORDED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(text, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def loss(value: object) -> str:
    """A loss in nats per token."""
    found = number(value)
    return NOT_RECORDED if found is None else f"{found:.3f}"


def count(value: object) -> str:
    """A number of things: 12,345 or 4.92 million."""
    found = number(value)
    if found is None:
        return NOT_RECORDED
    for limit, unit in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(found) >= limit:
            return f"{found / limit:.3g} {unit}"
    return f"{found:,.0f}"


def rate(value: object, unit: str) -> str:
    """A number of things a second."""
    found = number(value)
    if found is None:
        return NOT_RECORDED
    return f"{found:,.0f} {unit}" if abs(found) >= 100 else f"{found:.3g} {unit}"


def num_bytes(value: object) -> str:
    """A size in binary units."""
    size = number(value)
    if size is None:
        return NOT_RECORDED
    for unit in BYTE_UNITS:
        if abs(size) < 1024 or unit == BYTE_UNITS[-1]:
            break
        size /= 1024
    return (
        f"{size:,.0f} {unit}"
        if unit == "B"
        else f"{size:.3g} {unit}"
        if size < 1000
        else f"{size:,.0f} {unit}"
    )


def duration(value: object) -> str:
    """Seconds as people say them: 840 ms, 12.4 s, 3 min 05 s, 2 h 07 min, 3 d 4 h."""
    seconds = number(value)
    if seconds is None:
        return NOT_RECORDED
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, hours = int(seconds) // 60, int(seconds) // 3600
    if minutes < 60:
        return f"{minutes} min {int(seconds) % 60:02d} s"
    return f"{hours} h {minutes % 60:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def moment(value: object) -> str:
    """An ISO 8601 time or seconds since 1970, to the second, in UTC."""
    found = parse_moment(value)
    return text(value) if found is None else f"{found:%Y-%m-%d %H:%M:%S} UTC"


def parse_moment(value: object) -> datetime | None:
    """The time that `value` names, or None when it names none."""
    try:
        seconds = number(value)
        if seconds is not None:
            return datetime.fromtimestamp(seconds, UTC)
        parsed = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
