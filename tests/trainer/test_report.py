from pathlib import Path

import pytest

from trainer import launch, report
from trainer.errors import Terminated
from trainer.report import ExitReport, decide_exit_code
from trainer.stop import StopSignal


@pytest.mark.parametrize(
    ("agent_code", "codes", "terminated", "expected"),
    [
        (0, [0, 0], False, 0),
        (0, [0, 0], True, 0),
        (1, [78, 1], False, 78),
        (1, [1, 78], True, 78),
        (1, [143, 1], False, 143),
        (1, [], True, 143),
        (143, [143, 143], True, 143),
        (1, [1], False, 1),
        (1, [], False, 1),
        (-9, [0], False, 1),
        (0, [78], False, 78),
    ],
)
def test_the_exit_code_of_the_pod(agent_code: int, codes: list[int], terminated: bool, expected: int) -> None:
    reports = [ExitReport(f"rank-{rank:05d}", code) for rank, code in enumerate(codes)]
    assert decide_exit_code(agent_code, reports, terminated=terminated) == expected


def test_reports_come_back_and_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in (1, 0):
        report.write(tmp_path, ExitReport(f"rank-{rank:05d}", 78, "diverged at step 3"))
    reports = report.read_all(tmp_path)
    assert [item.source for item in reports] == ["rank-00000", "rank-00001"]
    launch.explain(reports)
    assert capsys.readouterr().err == "error (rank-00000, rank-00001): diverged at step 3\n"


def test_a_stop_is_put_off_while_training() -> None:
    stop = StopSignal()
    with stop.deferred():
        stop.request()
    assert stop.requested
    with pytest.raises(Terminated):
        stop.request()
