import pytest

from infra.runs.curves.charts import NUM_BUCKETS, Axes, Level, Marker, Series, line_chart, stacked_chart
from infra.runs.curves.scale import Scale, Size, short, y_scale

SIZE = Size(120, 110, left=10, right=10, top=5, bottom=5)


def line(*points: tuple[float, float]) -> Series:
    return Series("loss", points, "c-train")


def test_points_map_into_the_plot() -> None:
    chart = line_chart([line((0, 0), (50, 5), (100, 10))], Axes(size=SIZE))
    assert chart is not None
    (path,) = chart.lines
    xs = [float(pair.split(",")[0]) for pair in path.d.lstrip("M").split("L")]
    ys = [float(pair.split(",")[1]) for pair in path.d.lstrip("M").split("L")]
    assert xs == [10, 60, 110]
    assert ys[0] == 105 and ys == sorted(ys, reverse=True) and ys[-1] > SIZE.top


def test_without_points_there_is_no_chart() -> None:
    assert line_chart([line()], Axes()) is None
    assert stacked_chart([], Axes()) is None


def test_a_single_point_and_a_flat_curve_can_be_drawn() -> None:
    for points in ([(3.0, 0.0)], [(1.0, 2.0), (2.0, 2.0)], [(1.0, -4.0), (2.0, -4.0)]):
        for from_zero in (True, False):
            chart = line_chart([Series("loss", points, "c-train")], Axes(from_zero=from_zero))
            assert chart is not None and chart.y_ticks


def test_long_curves_become_a_mean_and_a_band_that_keeps_the_spikes() -> None:
    points = [(float(step), 1.0) for step in range(10 * NUM_BUCKETS)]
    points[1234] = (1234.0, 50.0)
    chart = line_chart([Series("loss", points, "c-train")], Axes())
    assert chart is not None
    assert chart.lines[0].d.count(",") == NUM_BUCKETS
    tops = [float(pair.split(",")[1]) for pair in chart.areas[0].d.strip("MZ").split("L")]
    assert min(tops) < 40


def test_levels_lie_inside_the_plot() -> None:
    level = Level("bigram", 20.0, "c-bigram")
    chart = line_chart([line((0, 5), (1, 6))], Axes(size=SIZE, levels=[level], from_zero=False))
    assert chart is not None
    assert SIZE.top <= chart.levels[0].at <= SIZE.height - SIZE.bottom


def test_layers_are_stacked_in_order() -> None:
    lower = Series("compute", [(0, 1.0), (1, 1.0)], "c-compute")
    upper = Series("data", [(0, 3.0), (1, 3.0)], "c-data")
    chart = stacked_chart([lower, upper], Axes(size=SIZE))
    assert chart is not None
    edges = [[float(pair.split(",")[1]) for pair in area.d.strip("MZ").split("L")] for area in chart.areas]
    assert edges[0][2:] == [105, 105]
    assert edges[1][2:] == edges[0][:2][::-1]
    assert edges[1][0] < edges[0][0]


def test_labels_that_would_overlap_are_left_out_and_ticks_are_thinned() -> None:
    markers = [Marker(10, "resumed"), Marker(11, "resumed"), Marker(90, "stopped")]
    ticks = [Marker(float(at), "checkpoint", minor=True) for at in range(101)]
    chart = line_chart([line((0, 1), (100, 2))], Axes(size=Size(420, 240), markers=[*markers, *ticks]))
    assert chart is not None
    assert [mark.label for mark in chart.markers] == ["resumed", "", "stopped"]
    assert chart.markers[-1].anchor == "end"
    assert len(chart.minor_markers) < 20 and chart.minor_markers[0].at == 410


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 100, [0, 25, 50, 75, 100]),
        (3.9, 8.2, [4, 5, 6, 7, 8]),
        (0, 0.001, [0, 0.00025, 0.0005, 0.00075, 0.001]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert Scale(low, high, 200, 0).ticks(pixels_apart=44) == pytest.approx(expected)


def test_an_axis_becomes_logarithmic_only_where_that_is_allowed_and_needed() -> None:
    wide = [0.5, 400.0]
    assert y_scale(wide, SIZE, from_zero=True, may_be_log=True).log
    assert not y_scale(wide, SIZE, from_zero=True, may_be_log=False).log
    assert not y_scale([1.0, 4.0], SIZE, from_zero=True, may_be_log=True).log
    assert not y_scale([0.0, 400.0], SIZE, from_zero=True, may_be_log=True).log
    assert y_scale(wide, SIZE, from_zero=True, may_be_log=True).ticks(pixels_apart=44) == [1, 10, 100]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (2500, "2500"),
        (12000, "12k"),
        (3.5e6, "3.5M"),
        (1e-4, "1e-4"),
        (7.5e-4, "7.5e-4"),
    ],
)
def test_axis_labels_are_short(value: float, text: str) -> None:
    assert short(value) == text
