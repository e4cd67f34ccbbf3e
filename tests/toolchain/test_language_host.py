"""The language host as a service: options, requests and answers, without an engine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from tests.toolchain.conftest import script
from toolchain import tools
from toolchain.language_host import HOST_VERSION, packages, program, programs
from toolchain.language_host.errors import HostError
from toolchain.language_host.interpreter import Interpreter, interpreter


def info(root: Path, **options: str) -> language_pb2.ProgramInfo:
    struct = struct_pb2.Struct()
    struct.update(options)
    return language_pb2.ProgramInfo(
        root_directory=str(root), program_directory=str(root / "program"), entry_point=".", options=struct
    )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, "subprocess.Popen[bytes]"]]:
    """A client of a host process, and the process."""
    monkeypatch.setenv("TRAINYARD_PYTHON", sys.executable)
    process = subprocess.Popen(
        [tools.LANGUAGE_HOST_DIRECTORY / tools.LANGUAGE_HOST, "127.0.0.1:1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel), process
    if process.poll() is None:
        process.terminate()
    process.communicate()


def test_the_host_says_its_version_and_ends_silently(host: tuple[Any, "subprocess.Popen[bytes]"]) -> None:
    client, process = host
    assert client.GetPluginInfo(empty_pb2.Empty()).version == HOST_VERSION
    process.terminate()
    assert process.communicate() == (b"", b"")
    assert process.returncode == 0


def test_what_the_host_does_not_offer_is_unimplemented_without_a_traceback(
    host: tuple[Any, "subprocess.Popen[bytes]"],
) -> None:
    client, process = host
    with pytest.raises(grpc.RpcError) as failure:
        client.Pack(language_pb2.PackRequest())
    assert failure.value.code() == grpc.StatusCode.UNIMPLEMENTED
    process.terminate()
    assert process.communicate()[1] == b""


def test_a_wrong_option_is_answered_not_thrown(
    host: tuple[Any, "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    client, process = host
    with pytest.raises(grpc.RpcError, match="toolchain' is 'poetry'"):
        client.GetRequiredPackages(
            language_pb2.GetRequiredPackagesRequest(info=info(tmp_path, toolchain="poetry"))
        )
    process.terminate()
    assert process.communicate()[1] == b""


def test_a_host_whose_engine_is_gone_ends(tmp_path: Path) -> None:
    launcher = tools.LANGUAGE_HOST_DIRECTORY / tools.LANGUAGE_HOST
    parent = script(tmp_path / "engine", f'"{launcher}" 127.0.0.1:1 &\nread wait')
    engine = subprocess.Popen([parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert engine.stdout is not None
    engine.stdout.readline()
    engine.kill()
    assert engine.stdout.read() == b""  # the pipe ends with the last process that holds it
    engine.communicate()


def test_the_launcher_runs_the_chosen_interpreter(tmp_path: Path) -> None:
    python = script(tmp_path / "python", 'echo "$@"')
    launcher = tools.LANGUAGE_HOST_DIRECTORY / tools.LANGUAGE_HOST
    link = tmp_path / "link"
    link.symlink_to(launcher)
    result = subprocess.run(
        [link, "engine:1"],
        env={**os.environ, "TRAINYARD_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("-P ")
    assert result.stdout.endswith(f" {launcher.parents[3]} --parent {os.getpid()} engine:1\n")


def test_configuration_goes_by_environment(tmp_path: Path) -> None:
    request = language_pb2.RunRequest(config={"app:plain": "1"}, configSecretKeys=["app:token"])
    variables = programs.environment(request, python=Interpreter(sys.executable))
    assert json.loads(variables["PULUMI_CONFIG"]) == {"app:plain": "1"}
    assert json.loads(variables["PULUMI_CONFIG_SECRET_KEYS"]) == ["app:token"]


def test_arguments_leave_out_what_is_not_set(tmp_path: Path) -> None:
    request = language_pb2.RunRequest(
        project="app", stack="dev", parallel=4, dryRun=True, monitor_address="m:1", info=info(tmp_path)
    )
    line = programs.arguments(request, engine_address="e:1")
    assert line[-1] == "."
    assert line[line.index("--dry_run") + 1] == "true"
    assert line[line.index("--engine") + 1] == "e:1"
    assert "--organization" not in line


@pytest.mark.parametrize(
    ("status", "interrupted", "error", "bail"),
    [
        (0, False, "", False),
        (program.EXIT_ERROR_SHOWN, False, "", True),
        (7, False, "Program exited with non-zero exit code: 7", False),
        (-9, False, "Program was ended by signal 9 (SIGKILL)", False),
        (-2, True, "", True),
    ],
)
def test_an_exit_status_becomes_an_answer(status: int, interrupted: bool, error: str, bail: bool) -> None:
    answer = programs.response(status, interrupted=interrupted)
    assert (answer.error, answer.bail) == (error, bail)


def test_the_virtualenv_option_is_relative_to_the_project(tmp_path: Path) -> None:
    python = script(tmp_path / "env" / "bin" / "python", "")
    found = interpreter(info(tmp_path, virtualenv="env"))
    assert found.executable == str(python)
    variables = found.environment({"PATH": "/bin", "PYTHONHOME": "/x"})
    assert variables["PATH"] == f"{python.parent}{os.pathsep}/bin"
    assert variables["VIRTUAL_ENV"] == str(tmp_path / "env")
    assert "PYTHONHOME" not in variables


def test_a_missing_virtualenv_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"'virtualenv' option is set to 'env'.*does not exist"):
        interpreter(info(tmp_path, virtualenv="env"))


def test_without_options_the_python_on_path_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = script(tmp_path / "bin" / "python3", "")
    other = script(tmp_path / "bin" / "python-other", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PULUMI_PYTHON_CMD", raising=False)
    assert interpreter(info(tmp_path)).executable == str(python)
    monkeypatch.setenv("PULUMI_PYTHON_CMD", "python-other")
    assert interpreter(info(tmp_path)).executable == str(other)


def test_a_locked_project_brings_its_environment(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").touch()
    python = script(tmp_path / ".venv" / "bin" / "python", "")
    assert interpreter(info(tmp_path)).executable == str(python)


def test_a_plugin_never_runs_on_the_python_on_path(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="venv does not exist"):
        interpreter(info(tmp_path), is_plugin=True)


def test_installed_packages_tell_the_plugins() -> None:
    found = {each.name: each for each in packages.required_packages(Interpreter(sys.executable))}
    assert found["kubernetes"].version.startswith("v4.")
    assert "policy" not in found


@pytest.mark.parametrize(
    ("package", "plugin"),
    [
        ("1.2", "1.2.0"),
        ("4.34.2", "4.34.2"),
        ("3.31.0a16", "3.31.0-alpha.16"),
        ("1.2.3rc4", "1.2.3-rc.4"),
        ("1.2.3.post4.dev5", "1.2.3+post4dev5"),
        ("1!2.0", None),
        ("", None),
    ],
)
def test_plugin_versions_follow_package_versions(package: str, plugin: str | None) -> None:
    assert packages.plugin_version(package) == plugin


def test_a_traceback_starts_in_the_users_code(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import helper\nhelper.fail()\n")
    (tmp_path / "helper.py").write_text("def fail():\n    raise ValueError('why')\n")
    with pytest.raises(ValueError, match="why") as failure:
        program.execute(tmp_path)
    lines = program.user_traceback(failure.value.with_traceback(failure.tb.tb_next)).splitlines()
    assert lines[0] == "Program failed with an unhandled exception:"
    assert f'File "{tmp_path}/__main__.py", line 2' in lines[2]
    assert "runpy" not in "".join(lines)
    assert lines[-1] == "ValueError: why"


def test_a_syntax_error_needs_no_frames(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("def broken(:\n")
    with pytest.raises(SyntaxError) as failure:
        program.execute(tmp_path)
    text = program.user_traceback(failure.value.with_traceback(failure.tb.tb_next))
    assert "SyntaxError" in text
    assert "runpy" not in text
