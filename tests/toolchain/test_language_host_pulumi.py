"""The language host under the real Pulumi with a backend of files: programs, errors, packs, plugins."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.cli.env import environment
from toolchain import tools

pytestmark = pytest.mark.full

Pulumi = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = """
import os
import sys

import pulumi

import helper

config = pulumi.Config()
pulumi.export("plain", config.get("plain"))
pulumi.export("token", config.get_secret("token"))
pulumi.export("secrets", [key for key in ("plain", "token") if pulumi.runtime.is_config_secret(f"app:{key}")])
pulumi.export("directory", os.getcwd())
pulumi.ComponentResource("app:index:Thing", "thing")
if config.get("fail") == "raise":
    helper.fail()
if config.get("fail") == "configuration":
    config.require_int("plain")
if config.get("fail") == "exit":
    sys.exit(7)
if config.get("fail") == "apply":
    pulumi.Output.from_input("x").apply(lambda value: helper.fail())
"""
HELPER = """
def fail():
    raise ValueError("the reason")
"""
PACK = """
import pulumi
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

print("pack of", pulumi.get_project(), pulumi.get_stack())


def no_thing(args, report):
    if args.resource_type == "app:index:Thing" and pulumi.Config("app").get_bool("deny"):
        report("things are not allowed")


policy = ResourceValidationPolicy("no-thing", "No thing.", no_thing)
PolicyPack("pack", enforcement_level=EnforcementLevel.MANDATORY, policies=[policy])
"""
PLUGIN = """
from typing import TypedDict

import pulumi
from pulumi.provider.experimental import component_provider_host


class Arguments(TypedDict):
    size: pulumi.Input[int]


class Yard(pulumi.ComponentResource):
    def __init__(self, name: str, args: Arguments, opts: pulumi.ResourceOptions | None = None):
        super().__init__("plugin:index:Yard", name, {}, opts)


if __name__ == "__main__":
    component_provider_host([Yard], "plugin")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose program lies in a directory of its own, with a stack `dev`."""
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "backend").as_uri())
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "a passphrase")
    (tmp_path / "backend").mkdir()
    root = tmp_path / "project"
    write(
        root / "Pulumi.yaml",
        "name: app\nruntime: {name: python, options: {virtualenv: environment}}\nmain: code/\n",
    )
    write(root / "code" / "__main__.py", PROGRAM)
    write(root / "code" / "helper.py", HELPER)
    (root / "environment").symlink_to(sys.prefix)
    return root


@pytest.fixture
def pulumi(project: Path) -> Pulumi:
    """Runs the real Pulumi in the project."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(tools.find("pulumi")), *arguments, "--non-interactive"]
        return subprocess.run(
            command, cwd=project, env=environment(), capture_output=True, text=True, check=False
        )

    assert run("stack", "init", "dev").returncode == 0
    return run


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_program_gets_its_configuration_and_keeps_secrets(pulumi: Pulumi, project: Path) -> None:
    pulumi("config", "set", "plain", "hello")
    pulumi("config", "set", "--secret", "token", "hunter2")
    done = pulumi("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hunter2" not in done.stdout
    assert "warning" not in done.stdout
    outputs: dict[str, Any] = json.loads(pulumi("stack", "output", "--json", "--show-secrets").stdout)
    assert outputs["plain"] == "hello"
    assert outputs["token"] == "hunter2"
    assert outputs["secrets"] == ["token"]
    assert outputs["directory"] == str(project / "code")
    hidden = json.loads(pulumi("stack", "output", "--json").stdout)
    assert hidden["token"] == "[secret]"


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ("raise", "ValueError: the reason"),
        ("apply", "ValueError: the reason"),
        ("configuration", "'app:plain' value 'hello' is not a valid 'int'"),
        ("exit", "Program exited with non-zero exit code: 7"),
    ],
)
def test_an_error_is_told_once_in_the_users_terms(pulumi: Pulumi, failure: str, message: str) -> None:
    pulumi("config", "set", "plain", "hello")
    pulumi("config", "set", "fail", failure)
    done = pulumi("preview")
    diagnostics = done.stdout.partition("Diagnostics:")[2] + done.stderr
    assert done.returncode != 0
    assert diagnostics.count(message) == 1
    assert "language_host" not in diagnostics
    assert "runpy" not in diagnostics


def test_a_missing_main_program_is_named(pulumi: Pulumi, project: Path) -> None:
    (project / "code" / "__main__.py").unlink()
    done = pulumi("preview")
    assert "unable to find main python program `__main__.py`" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_missing_virtual_environment_is_named(pulumi: Pulumi, project: Path) -> None:
    (project / "environment").unlink()
    done = pulumi("preview")
    assert "'virtualenv' option is set to 'environment'" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_policy_pack_sees_the_stack_and_judges(pulumi: Pulumi, project: Path) -> None:
    write(
        project / "pack" / "PulumiPolicy.yaml",
        "runtime: {name: python, options: {virtualenv: ../environment}}\n",
    )
    write(project / "pack" / "__main__.py", PACK)
    passed = pulumi("preview", "--policy-pack", "pack")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "pack of app dev" in passed.stdout
    pulumi("config", "set", "deny", "true")
    failed = pulumi("preview", "--policy-pack", "pack")
    assert failed.returncode != 0
    assert "things are not allowed" in failed.stdout


def test_a_broken_policy_pack_shows_its_own_error(pulumi: Pulumi, project: Path) -> None:
    write(
        project / "pack" / "PulumiPolicy.yaml",
        "runtime: {name: python, options: {virtualenv: ../environment}}\n",
    )
    write(project / "pack" / "__main__.py", "raise RuntimeError('the pack is broken')\n")
    done = pulumi("preview", "--policy-pack", "pack")
    assert done.returncode != 0
    assert "the pack is broken" in done.stderr


def test_a_plugin_in_python_serves_its_schema(pulumi: Pulumi, project: Path) -> None:
    write(
        project / "plugin" / "PulumiPlugin.yaml",
        f"runtime: {{name: python, options: {{virtualenv: {project / 'environment'}}}}}\n",
    )
    write(project / "plugin" / "__main__.py", PLUGIN)
    done = pulumi("package", "get-schema", str(project / "plugin"))
    assert done.returncode == 0, done.stderr
    assert "plugin:index:Yard" in json.loads(done.stdout)["resources"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_pulumi_is_ended(pulumi: Pulumi, project: Path, number: signal.Signals) -> None:
    os.mkfifo(project / "started")
    code = (
        "import pathlib, threading\npathlib.Path('../started').write_text('yes')\nthreading.Event().wait()\n"
    )
    write(project / "code" / "__main__.py", code)
    process = subprocess.Popen(
        [str(tools.find("pulumi")), "preview", "--non-interactive"],
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert (project / "started").read_text() == "yes"
    process.send_signal(number)
    output = process.communicate()[0]  # ends with the last process that holds the pipe
    assert process.returncode != 0
    assert "Traceback" not in output
    assert "KeyboardInterrupt" not in output
