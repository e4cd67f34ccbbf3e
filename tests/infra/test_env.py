"""`trainyard env`: what it sets, what it leaves, and what it makes."""

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from infra import paths
from infra.cli import env
from infra.errors import TrainyardError
from toolchain import layout, pins, probe

PULUMI = """echo "$@" >> "$CALLS"
case "$1" in
version) echo v3.274.1 ;;
stack) mkdir -p "$TRAINYARD_STATE/pulumi/.pulumi/stacks/trainyard"
       touch "$TRAINYARD_STATE/pulumi/.pulumi/stacks/trainyard/$3.json" ;;
esac"""
OURS = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "KUBECONFIG")


@pytest.fixture
def machine(places: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing of Pulumi on it, and nothing set; returns its directory."""
    monkeypatch.setenv("PATH", f"{places / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(places / "home"))
    monkeypatch.setenv("PULUMI_HOME", str(places / "pulumi-home"))
    monkeypatch.setenv("CALLS", str(places / "calls"))
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    probe.version_text.cache_clear()
    return places


@pytest.fixture
def pulumi(machine: Path) -> Path:
    """A Pulumi on PATH that makes stacks, and writes down how it was called."""
    return executable(machine / "bin" / "pulumi", PULUMI)


def executable(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def calls(machine: Path) -> list[str]:
    path = machine / "calls"
    return [line for line in path.read_text().splitlines() if line != "version"] if path.exists() else []


def test_the_exports_are_what_a_shell_gets(pulumi: Path, places: Path) -> None:
    app = typer.Typer()
    env.register(app)
    result = CliRunner().invoke(app)
    assert result.exit_code == 0
    shown = f'{result.stdout}\necho "$PULUMI_BACKEND_URL|$PULUMI_CONFIG_PASSPHRASE_FILE|$KUBECONFIG"'
    values = subprocess.run(
        ["/bin/sh", "-c", shown], capture_output=True, text=True, check=True
    ).stdout.strip()
    state = places / "state"
    assert values == f"file://{state}/pulumi|{state}/passphrase|{state}/cluster/admin.kubeconfig"


def test_the_values_are_quoted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_STATE", str(machine / "a state; of $mine"))
    app = typer.Typer()
    env.register(app)
    words = shlex.split(CliRunner().invoke(app).stdout)
    assert f"PULUMI_CONFIG_PASSPHRASE_FILE={machine}/a state; of $mine/passphrase" in words


def test_backend_and_passphrase_are_for_the_owner_only(machine: Path) -> None:
    env.environment()
    assert stat.S_IMODE((paths.state_dir() / "pulumi").stat().st_mode) == 0o700
    passphrase = paths.state_dir() / "passphrase"
    assert stat.S_IMODE(passphrase.stat().st_mode) == 0o600
    assert passphrase.read_text().strip() == env.LOCAL_PASSPHRASE


def test_an_existing_passphrase_stays(machine: Path) -> None:
    paths.state_dir().mkdir()
    (paths.state_dir() / "passphrase").write_text("another")
    env.environment()
    assert (paths.state_dir() / "passphrase").read_text() == "another"


def test_what_the_user_has_set_wins(pulumi: Path, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://theirs")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    monkeypatch.setenv("KUBECONFIG", "/their/kubeconfig")
    added = env.additions(os.environ)
    assert not set(OURS) & set(added)
    assert env.environment()["PULUMI_BACKEND_URL"] == "s3://theirs"
    assert not (paths.state_dir() / "passphrase").exists()
    assert calls(machine) == []


@pytest.mark.parametrize("name", ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"])
def test_a_passphrase_for_other_stacks_does_not_lock_the_local_one(
    name: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "/theirs")
    result = env.environment()
    words = result.get("PULUMI_CONFIG_PASSPHRASE")
    file = Path(result["PULUMI_CONFIG_PASSPHRASE_FILE"]) if words is None else None
    assert (file.read_text().strip() if file else words) == env.LOCAL_PASSPHRASE


def test_it_can_be_applied_again(pulumi: Path, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = env.environment()
    for name, value in first.items():
        monkeypatch.setenv(name, value)
    (paths.state_dir() / "passphrase").unlink()
    assert env.environment() == first
    assert (paths.state_dir() / "passphrase").exists()


def test_path_starts_with_built_tools_and_drops_those_of_other_pins(machine: Path) -> None:
    current = executable(layout.home(pins.module("kubectl")) / "bin" / "kubectl", "").parent
    stale = layout.root() / "kubernetes-000000000000" / "bin"
    entries = env.search_path(f"/usr/bin:{stale}:{current}").split(os.pathsep)
    assert entries == [str(current), str(Path(sys.prefix) / "bin"), "/usr/bin"]


def test_the_language_host_is_named_until_the_official_one_is_there(machine: Path) -> None:
    ours = env.additions(os.environ)["TRAINYARD_LANGUAGE_HOST"]
    assert Path(ours).is_relative_to(paths.REPOSITORY)
    official = executable(machine / "bin" / "pulumi-language-python", "")
    assert env.additions(os.environ)["TRAINYARD_LANGUAGE_HOST"] == str(official)


def test_a_kubeconfig_of_the_user_is_not_hidden_by_a_cluster_that_is_not_there(machine: Path) -> None:
    theirs = machine / "home" / ".kube" / "config"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    assert "KUBECONFIG" not in env.additions(os.environ)
    paths.kubeconfig_path().parent.mkdir(parents=True)
    paths.kubeconfig_path().touch()
    assert env.additions(os.environ)["KUBECONFIG"] == str(paths.kubeconfig_path())


def test_the_local_stack_is_made_once(pulumi: Path, machine: Path) -> None:
    env.environment()
    env.environment()
    assert calls(machine) == ["stack init local --no-select --non-interactive"]


def test_without_pulumi_no_stack_is_made(machine: Path) -> None:
    env.environment()
    assert calls(machine) == []


def test_a_stack_that_cannot_be_made_is_an_error_with_its_cause(machine: Path) -> None:
    executable(
        machine / "bin" / "pulumi", 'test "$1" = version && echo v3.274.1 && exit; echo no way >&2; exit 1'
    )
    with pytest.raises(TrainyardError, match="no way"):
        env.environment()


def test_a_state_directory_that_cannot_be_used_names_the_variable(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "file").touch()
    monkeypatch.setenv("TRAINYARD_STATE", str(machine / "file"))
    with pytest.raises(TrainyardError, match="TRAINYARD_STATE"):
        env.environment()


@pytest.mark.full
def test_the_real_pulumi_finds_the_local_stack_and_leaves_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in OURS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path / "state"))
    file = paths.REPOSITORY / "stacks" / "Pulumi.local.yaml"
    before = file.read_bytes()
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(before)
    command = [
        "pulumi",
        "config",
        "set",
        "--secret",
        "--config-file",
        str(copy),
        "key",
        "value",
        "--stack",
        "local",
    ]
    subprocess.run(command, cwd=paths.REPOSITORY, env=env.environment(), check=True)
    assert "secure: v1:" in copy.read_text()
    assert file.read_bytes() == before
