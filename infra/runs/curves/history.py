"""A run's metrics as its last attempt left them: one value a step, and the events on the way."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]
Metric = dict[str, Any]

STEP_IN_TEXT = re.compile(r"step[-_ =:]*0*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Event:
    """Something that happened to the run, at the step that it had reached."""

    name: str
    step: int
    time: float | None
    detail: str


@dataclass(frozen=True)
class History:
    """Training and validation records by step, the events, and every step ever taken with its time."""

    train: dict[int, Metric]
    validation: dict[int, Metric]
    events: tuple[Event, ...]
    progress: tuple[Point, ...]

    def points(self, name: str, *, kind: str = "train") -> list[Point]:
        """(step, value) of a metric, in order; what is missing or not finite is left out."""
        records = self.validation if kind == "validation" else self.train
        values = ((step, number(record.get(name))) for step, record in sorted(records.items()))
        return [(float(step), value) for step, value in values if value is not None]


def read_history(metrics: Iterable[Metric]) -> History:
    """Put metrics in order: when a restart repeats steps, only the last attempt's values count."""
    train: dict[int, Metric] = {}
    validation: dict[int, Metric] = {}
    events: list[Event] = []
    progress: list[Point] = []
    last_step = 0
    for metric in metrics:
        step = _step(metric)
        if metric.get("kind") == "event":
            events.append(_event(metric, reached=last_step))
        elif step is not None and metric.get("kind") == "validation":
            validation[step] = metric
        elif step is not None and metric.get("kind") == "train":
            if step <= last_step:
                _forget_from(step, train, validation)
            train[step] = metric
            last_step = step
            progress += _progress(metric, step)
    return History(train, validation, tuple(events), tuple(progress))


def number(value: object) -> float | None:
    """`value` as a float, or None when it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _forget_from(step: int, *records: dict[int, Metric]) -> None:
    for by_step in records:
        for later in [known for known in by_step if known >= step]:
            del by_step[later]


def _step(metric: Metric) -> int | None:
    step = number(metric.get("step"))
    return None if step is None else int(step)


def _event(metric: Metric, *, reached: int) -> Event:
    detail = metric.get("detail")
    text = _detail_text(detail)
    in_detail = _step(detail) if isinstance(detail, dict) else None
    named = STEP_IN_TEXT.search(text)
    found = [
        step for step in (_step(metric), in_detail, int(named[1]) if named else None) if step is not None
    ]
    return Event(
        name=str(metric.get("event") or "event"),
        step=found[0] if found else reached,
        time=number(metric.get("time")),
        detail=text,
    )


def _detail_text(detail: object) -> str:
    if isinstance(detail, dict):
        return ", ".join(f"{key} {value}" for key, value in detail.items())
    return "" if detail is None else str(detail)


def _progress(metric: Metric, step: int) -> list[Point]:
    time = number(metric.get("time"))
    return [] if time is None else [(time, float(step))]
