"""The figures of a report: which metrics are drawn, how, and what their legends say."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from infra.runs.curves import wording
from infra.runs.curves.charts import (
    SMALL,
    WIDE,
    Axes,
    Chart,
    Level,
    Marker,
    Series,
    four_digits,
    line_chart,
    stacked_chart,
)
from infra.runs.curves.history import Event, History, Point, number
from infra.runs.curves.scale import short

MINOR_EVENTS = frozenset({"checkpoint"})
UNMARKED_EVENTS = frozenset({"start", "handshake", "finished"})
TIME_PARTS = ("compute", "communication", "data", "checkpoint")
LOW_SHARE = 0.005


@dataclass(frozen=True)
class Key:
    """An entry of a legend: what a colour stands for, and its latest or typical value."""

    label: str
    colour: str
    value: str


@dataclass(frozen=True)
class Figure:
    """A chart with its heading; `narrow` replaces a wide one on small screens; without points it is None."""

    title: str
    note: str
    chart: Chart | None
    keys: Sequence[Key] = ()
    narrow: Chart | None = None


@dataclass(frozen=True, kw_only=True)
class Style:
    """How the curve of one metric looks, and the one value that stands for it."""

    title: str
    note: str
    colour: str
    summary_label: str
    summary: Callable[[Iterable[float]], float]
    show: Callable[[float], str] = four_digits
    may_be_log: bool = False


SPEED = Style(
    title="Throughput",
    note="tokens/s",
    colour="c-speed",
    summary_label="median",
    summary=median,
    show=wording.count,
)
LEARNING_RATE = Style(
    title="Learning rate", note="", colour="c-rate", summary_label="highest", summary=max, show=short
)
GRADIENT_NORM = Style(
    title="Gradient norm",
    note="before clipping",
    colour="c-norm",
    summary_label="median",
    summary=median,
    may_be_log=True,
)


def loss_figure(history: History, *, bigram_loss: float | None) -> Figure:
    """Training and validation loss over the steps, and the bigram model's loss as a level."""
    train, validation = history.points("loss"), history.points("loss", kind="validation")
    series = [
        Series("training", train, "c-train"),
        Series("validation", validation, "c-validation", dots=True),
    ]
    levels = [] if bigram_loss is None else [Level(f"bigram {bigram_loss:.3f}", bigram_loss, "c-bigram")]
    axes = Axes(markers=_markers(history.events), levels=levels, from_zero=False, show=wording.loss)
    keys = [
        Key(curve.label, curve.colour, wording.loss(curve.points[-1][1])) for curve in series if curve.points
    ]
    if bigram_loss is not None:
        keys.append(Key("bigram model on the same tokens", "c-bigram", wording.loss(bigram_loss)))
    return Figure(
        title="Loss",
        note="nats per token",
        chart=line_chart(series, replace(axes, size=WIDE)),
        narrow=line_chart(series, replace(axes, size=SMALL)),
        keys=keys,
    )


def small_figures(history: History) -> list[Figure]:
    """Speed, learning rate, gradient norm, where the time of a step goes, memory, and progress over time."""
    return [
        _curve(history, "tokens_per_second", SPEED),
        _time_split(history),
        _curve(history, "learning_rate", LEARNING_RATE),
        _curve(history, "grad_norm", GRADIENT_NORM),
        _memory(history),
        _progress(history),
    ]


def time_shares(history: History) -> dict[str, float]:
    """Seconds of all steps by what they went to; what no part accounts for is `other`."""
    return {label: sum(value for _, value in points) for label, points in _time_parts(history).items()}


def _curve(history: History, name: str, style: Style) -> Figure:
    points = history.points(name)
    axes = Axes(markers=_unlabelled(history.events), may_be_log=style.may_be_log, show=style.show)
    chart = line_chart([Series(style.title.lower(), points, style.colour)], axes)
    summary = [style.summary(value for _, value in points)] if points else []
    keys = [Key(style.summary_label, style.colour, style.show(value)) for value in summary]
    return Figure(style.title, style.note, chart, keys)


def _memory(history: History) -> Figure:
    points = [(step, value / 2**30) for step, value in history.points("memory_bytes")]
    chart = line_chart([Series("memory", points, "c-memory")], Axes(markers=_unlabelled(history.events)))
    keys = [Key("peak", "c-memory", f"{max(value for _, value in points):.3g} GiB")] if points else []
    return Figure("Memory", "GiB, rank 0", chart, keys)


def _time_split(history: History) -> Figure:
    parts = _time_parts(history)
    total = sum(time_shares(history).values()) or 1.0
    shares = {label: seconds / total for label, seconds in time_shares(history).items()}
    shown = [label for label in parts if label != "other" or shares[label] >= LOW_SHARE]
    series = [Series(label, parts[label], f"c-{label}") for label in shown]
    axes = Axes(markers=_unlabelled(history.events), show=wording.duration)
    chart = stacked_chart(series, axes)
    keys = [Key(label, f"c-{label}", f"{shares[label]:.1%}") for label in shown]
    return Figure("Step time", "seconds, and the share of each part", chart, keys)


def _time_parts(history: History) -> dict[str, list[Point]]:
    parts: dict[str, list[Point]] = {label: [] for label in (*TIME_PARTS, "other")}
    for step, record in sorted(history.train.items()):
        seconds = number(record.get("step_seconds"))
        if seconds is None:
            continue
        known = {label: number(record.get(f"{label}_seconds")) or 0.0 for label in TIME_PARTS}
        known["other"] = max(0.0, seconds - sum(known.values()))
        for label, value in known.items():
            parts[label].append((float(step), value))
    return parts if parts["other"] else {}


def _progress(history: History) -> Figure:
    attempts = _attempts(history.progress)
    series = [
        Series(f"attempt {n}, step", points, "c-progress") for n, points in enumerate(attempts, start=1)
    ]
    chart = line_chart(series, Axes(x_label="minute", show=wording.count))
    keys = [Key("steps taken, repeats included", "c-progress", wording.count(len(history.progress)))]
    return Figure("Progress", "step over minutes", chart, keys)


def _attempts(progress: Sequence[Point]) -> list[list[Point]]:
    """(minute, step) of each attempt; one ends where the next goes back to an earlier step."""
    attempts: list[list[Point]] = []
    last_step = math.inf
    for time, step in progress:
        if step <= last_step:
            attempts.append([])
        attempts[-1].append((round((time - progress[0][0]) / 60, 3), step))
        last_step = step
    return attempts


def _markers(events: Sequence[Event]) -> list[Marker]:
    marked = [event for event in events if event.name not in UNMARKED_EVENTS]
    return [Marker(float(event.step), event.name, minor=event.name in MINOR_EVENTS) for event in marked]


def _unlabelled(events: Sequence[Event]) -> list[Marker]:
    return [replace(marker, label="") for marker in _markers(events) if not marker.minor]
