"""Axes of a chart: sizes, scales from values to pixels, round ticks and short labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LOG_SCALE_RATIO = 50.0
PADDING = 0.06
ROUND_STEPS = (1, 2, 2.5, 5, 10)
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Size:
    """Width and height of a chart in pixels, and the margins that hold its labels."""

    width: int
    height: int
    left: int = 50
    right: int = 10
    top: int = 18
    bottom: int = 34


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels, linearly or by their logarithm; values outside stay at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self, *, pixels_apart: int) -> list[float]:
        """Round values inside the scale, about `pixels_apart` pixels from each other."""
        if self.log:
            exponents = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [10.0**exponent for exponent in exponents]
        count = max(1.0, abs(self.end - self.start) / pixels_apart)
        step = _round_up((self.high - self.low) / count)
        indices = range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        return [index * step for index in indices]


def x_scale(values: Sequence[float], size: Size) -> Scale:
    """An axis from the lowest to the highest of `values`, across the plot."""
    low, high = min(values), max(values)
    return Scale(low, high if high > low else low + 1, size.left, size.width - size.right)


def y_scale(values: Sequence[float], size: Size, *, from_zero: bool, may_be_log: bool) -> Scale:
    """An axis up the plot with some air; logarithmic where that is allowed and the values spread far."""
    low, high = min(values), max(values)
    bottom, top = size.height - size.bottom, size.top
    if may_be_log and low > 0 and high / low > LOG_SCALE_RATIO:
        return Scale(low / 1.2, high * 1.2, bottom, top, log=True)
    base = min(low, 0.0) if from_zero else low
    air = PADDING * ((high - base) or abs(high) or 1.0)
    return Scale(base if from_zero else base - air, high + air, bottom, top)


def short(value: float) -> str:
    """A number as an axis shows it: 12k, 3M, 0.25, 1e-4."""
    if abs(value) >= 1e4:
        unit, letter = next(pair for pair in UNITS if abs(value) >= pair[0])
        return f"{value / unit:.4g}{letter}"
    if value == 0 or abs(value) >= 1e-2:
        return f"{value:.4g}"
    mantissa, exponent = f"{value:.3e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _round_up(step: float) -> float:
    magnitude: float = 10.0 ** math.floor(math.log10(step))
    return next(factor * magnitude for factor in ROUND_STEPS if factor * magnitude >= step * 0.999)
