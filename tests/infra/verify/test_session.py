"""`trainyard verify nodes`: how outcomes are collected and shown."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.cli import verify as command
from infra.errors import TrainyardError
from infra.verify import session
from infra.verify.session import Outcome

TESTS = """
import pytest

@pytest.mark.parametrize("name", ["good", "bad"])
def test_node(name, record_property):
    record_property("check", name)
    record_property("title", f"It is {name}")
    record_property("found", f"{name}, indeed")
    assert name == "good"

def test_broken():
    raise RuntimeError("no transport")
"""


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test_node.py").write_text(TESTS)
    monkeypatch.setattr(session, "TESTS", tmp_path)
    return tmp_path


def test_every_check_has_an_outcome_even_a_broken_one(checks: Path) -> None:
    good, bad, broken = session.verify("node-a", transport="local://")
    assert good == Outcome("node-a", "good", "It is good", True, "good, indeed")
    assert (bad.check, bad.passed, bad.found) == ("bad", False, "bad, indeed")
    assert not broken.passed
    assert "RuntimeError" in broken.found


def test_no_check_at_all_is_an_error_and_not_a_pass(checks: Path) -> None:
    (checks / "test_node.py").unlink()
    with pytest.raises(TrainyardError, match="no check ran on node-a"):
        session.verify("node-a", transport="local://")


@pytest.fixture
def cluster(places: Path) -> None:
    kubeconfig = places / "state" / "cluster" / "admin.kubeconfig"
    kubeconfig.parent.mkdir(parents=True)
    kubeconfig.write_text("")


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_all_passed(
    passed: bool, code: int, cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = [Outcome("node-a", "a", "A", True, "x"), Outcome("node-a", "b", "B", passed, "what was there")]
    monkeypatch.setattr(command, "verify", lambda node, transport: outcomes)
    done = CliRunner().invoke(command.app, ["nodes", "-s", "local"])
    assert done.exit_code == code
    assert f"{1 + passed} of 2 checks passed" in done.output
    assert "what was there" in done.output
    done = CliRunner().invoke(command.app, ["nodes", "--json"])
    assert done.exit_code == code
    assert [one["passed"] for one in json.loads(done.output)] == [True, passed]


def test_what_a_check_found_is_shown_as_it_is(cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "volumes=[data] [/data] :100: \\["
    outcome = Outcome("node-a", "a", "test_node.py::test_node[clock]", True, words)
    monkeypatch.setattr(command, "verify", lambda node, transport: [outcome])
    done = CliRunner().invoke(command.app, ["nodes"], env={"COLUMNS": "200"})
    assert outcome.title in done.output
    assert words in done.output


def test_without_a_cluster_the_next_step_is_told(places: Path) -> None:
    done = CliRunner().invoke(command.app, ["nodes"])
    assert isinstance(done.exception, TrainyardError)
    assert "trainyard cluster up" in str(done.exception)


def test_a_stack_that_is_not_there_is_wrong_usage(places: Path) -> None:
    done = CliRunner().invoke(command.app, ["nodes", "-s", "nowhere"])
    assert isinstance(done.exception, TrainyardError)
    assert done.exception.exit_code == 2
