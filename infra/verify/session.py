"""Runs tests/nodes against a node and collects what each check found."""

from __future__ import annotations

import importlib.util
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING

from infra.errors import TrainyardError
from infra.paths import REPOSITORY

if TYPE_CHECKING:
    import pytest

TESTS = REPOSITORY / "tests" / "nodes"


@dataclass(frozen=True)
class Outcome:
    """One check on one node."""

    node: str
    check: str
    title: str
    passed: bool
    found: str


@dataclass
class Collector:
    """A pytest plugin that keeps the outcome of each check."""

    node: str
    outcomes: list[Outcome] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a check recorded; one that broke down says why itself."""
        if report.when != "call" and not (report.when == "setup" and not report.passed):
            return
        told = {name: str(value) for name, value in report.user_properties}
        found = told.get("found") or str(report.longrepr).splitlines()[-1]
        check = told.get("check", report.nodeid)
        self.outcomes.append(Outcome(self.node, check, told.get("title", check), report.passed, found))


def verify(node: str, *, transport: str) -> list[Outcome]:
    """Check a node over a testinfra transport (`ssh://user@host`); raises TrainyardError if no check ran."""
    if importlib.util.find_spec("pytest") is None or importlib.util.find_spec("testinfra") is None:
        raise TrainyardError("node checks need pytest and testinfra", next_step="make setup")
    import pytest

    collector = Collector(node)
    arguments = [str(TESTS), f"--hosts={transport}", "-p", "no:cacheprovider", "--override-ini=addopts="]
    with redirect_stdout(StringIO()) as printed:
        pytest.main([*arguments, "--import-mode=importlib", "-q"], plugins=[collector])
    if not collector.outcomes:
        raise TrainyardError(
            f"no check ran on {node}:\n{printed.getvalue().strip()}",
            next_step="make setup, then run the command again; trainyard cluster status shows the cluster",
        )
    return collector.outcomes
