"""What comes from a cluster or a machine is printed as it is: brackets and colons are no markup."""

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.cli import images, main, runs
from infra.errors import TrainyardError
from infra.images.build import Built

WORDS = "volumes=[data] [/data] :100: \\["


def test_why_a_run_waits(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"run": "a-1", "state": "queued", "step": None, "loss": None, "speed": None, "why": WORDS}
    monkeypatch.setattr(runs, "_recorded_rows", lambda stack: [row])
    done = CliRunner().invoke(main.app, ["status"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.exception
    assert WORDS in done.output


def test_a_stack_without_runs(places: Path) -> None:
    assert "stack local has no runs yet" in CliRunner().invoke(main.app, ["status"]).output


def test_an_images_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = "mirror:100:/trainyard/trainer[x]"
    built = Built((), {reference: "sha256:aa"})
    monkeypatch.setattr(images.images, "build", lambda *args, **options: built)
    assert f"{reference}  sha256:aa" in CliRunner().invoke(main.app, ["images", "build"]).output


def test_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> Any:
        raise TrainyardError(WORDS)

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setattr(sys, "argv", ["trainyard"])
    with pytest.raises(SystemExit):
        main.main()
    assert WORDS in capsys.readouterr().err
