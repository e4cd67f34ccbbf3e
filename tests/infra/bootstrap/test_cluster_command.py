"""`trainyard cluster`: what it prints and how it ends."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.bootstrap.health import Part
from infra.bootstrap.leftovers import Leftovers
from infra.cli import cluster, local_stack
from infra.errors import TrainyardError

pytestmark = pytest.mark.usefixtures("places")
WORDS = "volumes=[data] [/data] :100: \\["
NOTHING = Leftovers((), (), (), (), (), (), ())


@pytest.mark.parametrize(("healthy", "code"), [(True, 0), (False, 1)])
def test_status_says_each_part_and_fails_when_one_is_down(
    healthy: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [Part("containerd", True, "process 1"), Part("kubelet", healthy, "here is why")]
    monkeypatch.setattr(cluster.health, "parts", lambda host, plan: parts)
    done = CliRunner().invoke(cluster.app, ["status"])
    assert done.exit_code == code
    assert "here is why" in done.output


def test_status_shows_what_a_part_says_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Part("node", True, WORDS)]
    monkeypatch.setattr(cluster.health, "parts", lambda host, plan: parts)
    assert WORDS in CliRunner().invoke(cluster.app, ["status"]).output


def test_down_ends_with_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.lifecycle, "down", lambda host, plan, progress: NOTHING)
    done = CliRunner().invoke(cluster.app, ["down"])
    assert done.exit_code == 0
    assert "0 processes, 0 mounts, 0 namespaces" in done.output


def test_down_fails_when_something_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Leftovers((12,), (), (), (), (), (), ())
    monkeypatch.setattr(cluster.lifecycle, "down", lambda host, plan, progress: left)
    done = CliRunner().invoke(cluster.app, ["down"])
    assert isinstance(done.exception, TrainyardError)
    assert "1 processes" in done.output


def test_up_passes_the_wish_to_install_packages_on(monkeypatch: pytest.MonkeyPatch) -> None:
    wishes: list[bool] = []
    monkeypatch.setattr(
        cluster.lifecycle,
        "up",
        lambda host, plan, progress, install_packages: wishes.append(install_packages),
    )
    CliRunner().invoke(cluster.app, ["up"])
    CliRunner().invoke(cluster.app, ["up", "--install-packages"])
    assert wishes == [False, True]


@pytest.mark.parametrize(("resources", "forgets"), [([], False), ([{"type": "x"}], True)])
def test_the_state_of_the_local_stack_ends_with_its_cluster(
    resources: list[object], forgets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = local_stack.backend_directory() / ".pulumi" / "stacks" / "trainyard" / "local.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"checkpoint": {"latest": {"resources": resources}}}))
    commands: list[list[str]] = []
    variables: list[dict[str, str]] = []
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://theirs")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "theirs")
    monkeypatch.setattr(local_stack.tools, "find", Path)

    def run(command: list[str], *, env: dict[str, str] | None = None, **_: Any) -> Any:
        if command[1:3] == ["stack", "rm"]:
            commands.append(command)
            variables.append(env or {})
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(local_stack.subprocess, "run", run)
    monkeypatch.setattr(cluster.lifecycle, "down", lambda host, plan, progress: NOTHING)
    assert CliRunner().invoke(cluster.app, ["down"]).exit_code == 0
    wanted = ["pulumi", "stack", "rm", "local", "--force", "--yes", "--preserve-config"]
    assert commands == ([wanted] if forgets else [])
    for used in variables:
        assert used["PULUMI_BACKEND_URL"] == local_stack.backend_directory().as_uri()
        assert "PULUMI_CONFIG_PASSPHRASE" not in used
