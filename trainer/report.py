"""How a process tells the entrypoint why it ended: by a small file, for exit codes get lost on the way."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from trainer.errors import EXIT_FAILED, EXIT_NEVER_RETRY, EXIT_OK, EXIT_TERMINATED

DIRECTORY_VARIABLE = "TRAINYARD_REPORT_DIRECTORY"


@dataclass(frozen=True)
class ExitReport:
    """Why a process ended."""

    source: str
    exit_code: int
    message: str = ""


def write(directory: Path, report: ExitReport) -> None:
    """Leave a report for the entrypoint."""
    path = directory / f"{report.source}.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(report)), encoding="utf-8")
    partial.replace(path)


def read_all(directory: Path) -> list[ExitReport]:
    """All reports, by source."""
    return [
        ExitReport(**json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(directory.glob("*.json"))
    ]


def decide_exit_code(agent_code: int, reports: list[ExitReport], *, terminated: bool) -> int:
    """The pod's exit code: done, never retry, stopped, or failed, in this order of precedence."""
    codes = {report.exit_code for report in reports}
    if agent_code == EXIT_OK and codes <= {EXIT_OK}:
        return EXIT_OK
    if EXIT_NEVER_RETRY in codes:
        return EXIT_NEVER_RETRY
    if terminated or EXIT_TERMINATED in codes:
        return EXIT_TERMINATED
    return EXIT_FAILED
