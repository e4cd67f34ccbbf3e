"""Progress lines."""

from io import StringIO

from infra.bootstrap.progress import Progress


def test_a_line_says_how_long_it_took() -> None:
    stream, times = StringIO(), iter([10.0, 13.25])
    Progress(stream=stream, clock=lambda: next(times)).say("halfway")
    assert stream.getvalue() == "[   3.2 s] halfway\n"
