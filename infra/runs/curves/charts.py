"""Geometry of the report's charts: from points to paths, ticks and labels; a template draws them as SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from infra.runs.curves.history import Point
from infra.runs.curves.scale import Scale, Size, short, x_scale, y_scale

WIDE = Size(1150, 340)
SMALL = Size(420, 240)

NUM_BUCKETS = 360
NUM_HOVER_STRIPS = 72
PIXELS_PER_X_TICK = 80
PIXELS_PER_Y_TICK = 44
LABEL_PIXELS = 74
TICK_PIXELS = 20
MAXIMUM_DOTS = 50

Bucket = tuple[float, float, float, float]


def four_digits(value: float) -> str:
    """How a value is shown when a chart is told nothing else."""
    return f"{value:.4g}"


@dataclass(frozen=True)
class Series:
    """One curve; `colour` is a class of the page's style sheet."""

    label: str
    points: Sequence[Point]
    colour: str
    dots: bool = False


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with."""

    label: str
    value: float
    colour: str


@dataclass(frozen=True)
class Marker:
    """Something that happened at an x value: a tick on the axis when minor, else a labelled line."""

    x: float
    label: str
    minor: bool = False


@dataclass(frozen=True)
class Mark:
    """A labelled position on an axis or in the plot."""

    at: float
    label: str
    colour: str = ""
    anchor: str = "middle"


@dataclass(frozen=True)
class Path:
    """An SVG path and its colour class."""

    colour: str
    d: str


@dataclass(frozen=True)
class Strip:
    """A column of the plot that shows the values below it when pointed at."""

    x: float
    width: float
    text: str


@dataclass(frozen=True)
class Axes:
    """What charts of every form share: the frame around the curves, and how values are shown."""

    size: Size = SMALL
    x_label: str = "step"
    markers: Sequence[Marker] = ()
    levels: Sequence[Level] = ()
    from_zero: bool = True
    may_be_log: bool = False
    show: Callable[[float], str] = four_digits


@dataclass(frozen=True)
class Chart:
    """All that a template needs to draw one chart; positions are pixels inside `size`."""

    size: Size
    x_label: str
    x_ticks: list[Mark]
    y_ticks: list[Mark]
    lines: list[Path]
    areas: list[Path]
    dots: list[tuple[str, float, float]]
    levels: list[Mark]
    markers: list[Mark]
    minor_markers: list[Mark]
    strips: list[Strip]


def line_chart(series: Sequence[Series], axes: Axes) -> Chart | None:
    """Curves over one x axis, or None when no curve has a point.

    Long curves are averaged into buckets, with a band from the lowest to the highest value of each.
    """
    drawn = [curve for curve in series if curve.points]
    if not drawn:
        return None
    x = x_scale([at for curve in drawn for at, _ in curve.points], axes.size)
    values = [value for curve in drawn for _, value in curve.points]
    y = _y_scale([*values, *(level.value for level in axes.levels)], axes)
    thinned = [(curve, _buckets(curve.points)) for curve in drawn]
    return _chart(
        drawn,
        axes,
        x,
        y,
        lines=[Path(curve.colour, _line(buckets, x, y)) for curve, buckets in thinned],
        areas=[Path(curve.colour, _band(b, x, y)) for curve, b in thinned if len(b) < len(curve.points)],
        dots=[
            (curve.colour, x(at), y(value))
            for curve in drawn
            if _has_dots(curve)
            for at, value in curve.points
        ],
    )


def stacked_chart(series: Sequence[Series], axes: Axes) -> Chart | None:
    """Areas on top of each other, the first at the bottom, or None when there are no points.

    All curves must have the same x values.
    """
    drawn = [curve for curve in series if curve.points]
    if not drawn:
        return None
    layers = [[mean for _, mean, _, _ in _buckets(curve.points)] for curve in drawn]
    xs = [at for at, _, _, _ in _buckets(drawn[0].points)]
    edges = [[0.0] * len(xs)]
    for layer in layers:
        edges.append([below + value for below, value in zip(edges[-1], layer, strict=True)])
    x, y = x_scale([at for at, _ in drawn[0].points], axes.size), _y_scale(edges[-1], axes)
    areas = [
        Path(curve.colour, _area(xs, lower, upper, x, y))
        for curve, (lower, upper) in zip(drawn, pairwise(edges), strict=True)
    ]
    return _chart(drawn, axes, x, y, areas=areas)


def _chart(
    drawn: Sequence[Series],
    axes: Axes,
    x: Scale,
    y: Scale,
    *,
    areas: list[Path],
    lines: Sequence[Path] = (),
    dots: Sequence[tuple[str, float, float]] = (),
) -> Chart:
    return Chart(
        size=axes.size,
        x_label=axes.x_label,
        x_ticks=[Mark(x(tick), short(tick)) for tick in x.ticks(pixels_apart=PIXELS_PER_X_TICK)],
        y_ticks=[Mark(y(tick), short(tick)) for tick in y.ticks(pixels_apart=PIXELS_PER_Y_TICK)],
        lines=list(lines),
        areas=areas,
        dots=list(dots),
        levels=[Mark(y(level.value), level.label, level.colour) for level in axes.levels],
        markers=_labelled(axes, x),
        minor_markers=_ticks(axes, x),
        strips=_strips(drawn, axes, x),
    )


def _has_dots(curve: Series) -> bool:
    return curve.dots and len(curve.points) <= MAXIMUM_DOTS


def _y_scale(values: Sequence[float], axes: Axes) -> Scale:
    return y_scale(values, axes.size, from_zero=axes.from_zero, may_be_log=axes.may_be_log)


def _buckets(points: Sequence[Point]) -> list[Bucket]:
    """(x, mean, lowest, highest) of at most `NUM_BUCKETS` runs of neighbouring points."""
    width = max(1, math.ceil(len(points) / NUM_BUCKETS))
    groups = [points[start : start + width] for start in range(0, len(points), width)]
    return [_bucket(group) for group in groups]


def _bucket(group: Sequence[Point]) -> Bucket:
    values = [value for _, value in group]
    return sum(at for at, _ in group) / len(group), sum(values) / len(values), min(values), max(values)


def _line(buckets: Sequence[Bucket], x: Scale, y: Scale) -> str:
    return _path([(x(at), y(mean)) for at, mean, _, _ in buckets])


def _band(buckets: Sequence[Bucket], x: Scale, y: Scale) -> str:
    xs = [at for at, _, _, _ in buckets]
    return _area(xs, [low for _, _, low, _ in buckets], [high for _, _, _, high in buckets], x, y)


def _area(xs: Sequence[float], lower: Sequence[float], upper: Sequence[float], x: Scale, y: Scale) -> str:
    there = [(x(at), y(value)) for at, value in zip(xs, upper, strict=True)]
    back = [(x(at), y(value)) for at, value in zip(xs, lower, strict=True)]
    return _path(there + back[::-1]) + "Z"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{at:g},{value:g}" for at, value in points)


def _labelled(axes: Axes, x: Scale) -> list[Mark]:
    """Vertical lines; a label that would run into the one before it is left to the table of events."""
    marks: list[Mark] = []
    free_from = -math.inf
    for marker in sorted((marker for marker in axes.markers if not marker.minor), key=lambda each: each.x):
        at = x(marker.x)
        label = marker.label if at >= free_from else ""
        free_from = at + LABEL_PIXELS if label else free_from
        marks.append(Mark(at, label, anchor="end" if at > axes.size.width - LABEL_PIXELS else "start"))
    return marks


def _ticks(axes: Axes, x: Scale) -> list[Mark]:
    """Ticks on the axis, the later ones first; those that would touch a later one are left out."""
    marks: list[Mark] = []
    for marker in sorted((marker for marker in axes.markers if marker.minor), key=lambda each: -each.x):
        at = x(marker.x)
        if not marks or marks[-1].at - at >= TICK_PIXELS:
            marks.append(Mark(at, marker.label))
    return marks


def _strips(series: Sequence[Series], axes: Axes, x: Scale) -> list[Strip]:
    width = (x.end - x.start) / NUM_HOVER_STRIPS
    columns: list[dict[str, Point]] = [{} for _ in range(NUM_HOVER_STRIPS)]
    for curve in series:
        for point in curve.points:
            column = min(int((x(point[0]) - x.start) / width), NUM_HOVER_STRIPS - 1)
            columns[column][curve.label] = point
    return [
        Strip(round(x.start + index * width, 1), round(width, 1), _readout(column, axes))
        for index, column in enumerate(columns)
        if column
    ]


def _readout(column: dict[str, Point], axes: Axes) -> str:
    last = max(at for at, _ in column.values())
    values = [f"{label}: {axes.show(value)}" for label, (_, value) in column.items()]
    return "\n".join([f"{axes.x_label} {last:g}", *values])
