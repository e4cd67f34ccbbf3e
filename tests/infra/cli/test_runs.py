"""The commands about runs know what the vault remembers as well as what the cluster runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from infra import paths
from infra.cli import runs, teardown
from infra.errors import TrainyardError
from infra.kube import ApiError
from infra.runs import records
from infra.runs.start import Verdict

STACK = "local"


class Api:
    """A cluster that runs `second` and nothing else."""

    def __init__(self, kubeconfig: Path) -> None:
        pass

    def list(self, path: str, **_: str) -> list[dict[str, Any]]:
        labels = {"trainyard.dev/run": "second"}
        metadata = {
            "name": "second-2",
            "namespace": "team-a",
            "labels": labels,
            "creationTimestamp": "2026-01-02",
        }
        return [{"metadata": metadata}] if path.endswith("/jobsets") else []

    def get(self, path: str) -> dict[str, Any] | None:
        return None


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The commands on a machine whose vault remembers `first` and whose cluster runs `second`."""
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path))
    paths.kubeconfig_path().parent.mkdir(parents=True)
    paths.kubeconfig_path().touch()
    remember("first-1", name="first")
    monkeypatch.setattr(runs, "Cluster", Api)
    monkeypatch.setattr(teardown, "Cluster", Api)
    made = typer.Typer()
    runs.register(made)
    teardown.register(made)
    return made


def remember(run_id: str, *, name: str) -> None:
    directory = records.record_dir(run_id)
    directory.mkdir(parents=True)
    record = {"run_id": run_id, "name": name, "stack": STACK, "status": "finished"}
    (directory / "record.json").write_text(json.dumps(record))
    (directory / "worker-0.log").write_text("the log of long ago\n")


def test_status_lists_what_runs_and_what_the_vault_remembers(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["status", "--json"])
    assert [(row["run"], row["state"]) for row in json.loads(done.output)] == [
        ("first-1", "finished"),
        ("second-2", "waiting"),
    ]


@pytest.mark.parametrize("run", ["first", "first-1"])
def test_the_log_of_a_run_that_is_gone_comes_from_the_vault(app: typer.Typer, run: str) -> None:
    assert CliRunner().invoke(app, ["logs", run]).output == "the log of long ago\n"


def test_a_run_that_nobody_knows_names_those_there_are(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["logs", "third"])
    assert isinstance(done.exception, TrainyardError)
    assert "first-1" in str(done.exception)


def test_a_run_that_the_cluster_gave_up_fails_the_wait(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"run_id": "second-2", "status": "running"}
    monkeypatch.setattr(runs, "follow", lambda *_: Verdict("failed", "gone"))
    monkeypatch.setattr(runs.archive, "archive_run", lambda *_, **__: record)
    monkeypatch.setattr(runs, "_write_report", lambda run_id: Path("report.html"))
    monkeypatch.setattr(runs, "print_summary", lambda *_: None)
    done = CliRunner().invoke(app, ["wait"])
    assert isinstance(done.exception, TrainyardError)
    assert "second-2 failed" in str(done.exception)


def test_a_teardown_without_an_answer_names_both_ways_on(
    app: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: Any, **__: Any) -> Any:
        raise ApiError("the cluster does not answer: connection refused")

    monkeypatch.setattr(Api, "list", silent)
    done = CliRunner().invoke(app, ["teardown"])
    assert isinstance(done.exception, TrainyardError)
    assert "trainyard cluster up" in str(done.exception)
    assert "trainyard cluster down" in str(done.exception)
