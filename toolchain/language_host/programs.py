"""Run: a Pulumi program in a process of its own."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import language_pb2

from toolchain.language_host import program
from toolchain.language_host.errors import HostError
from toolchain.language_host.interpreter import Interpreter, interpreter
from toolchain.language_host.processes import Processes, end


def run_program(
    request: Any, context: grpc.ServicerContext, *, engine_address: str, processes: Processes
) -> Any:
    """A `RunResponse` for a program's end: empty, `bail` when the user has seen the error, or the error.

    The program gets its configuration and the names of secret keys in PULUMI_CONFIG and
    PULUMI_CONFIG_SECRET_KEYS, as the official host passes them.
    """
    if request.attach_debugger:
        raise HostError("attaching a debugger needs the official pulumi-language-python")
    python = interpreter(request.info)
    _check_types(python, Path(request.info.program_directory))
    child = processes.start(
        [python.executable, program.__file__, *arguments(request, engine_address=engine_address)],
        environment=environment(request, python=python),
        directory=Path(request.info.program_directory),
    )
    if not context.add_callback(lambda: end(child)):
        end(child)
    return response(processes.wait(child), interrupted=processes.ending)


def arguments(request: Any, *, engine_address: str) -> list[str]:
    """The command line of `program.py` for a request; options without a value are left out."""
    options = {
        "monitor": request.monitor_address,
        "engine": engine_address,
        "project": request.project,
        "root_directory": request.info.root_directory,
        "stack": request.stack,
        "pwd": request.pwd,
        "dry_run": str(request.dryRun).lower(),
        "parallel": str(request.parallel),
        "organization": request.organization,
    }
    named = [part for name, value in options.items() if value for part in (f"--{name}", value)]
    return [*named, request.info.entry_point or ".", *request.args]


def environment(request: Any, *, python: Interpreter) -> dict[str, str]:
    """The program's environment: the host's, its virtual environment, its configuration."""
    result = python.environment(os.environ)
    if request.config:
        result["PULUMI_CONFIG"] = json.dumps(dict(request.config))
    result["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
    return result


def response(status: int, *, interrupted: bool = False) -> Any:
    """What a program's exit status means to the engine."""
    if status == 0:
        return language_pb2.RunResponse()
    if interrupted or status == program.EXIT_ERROR_SHOWN:
        return language_pb2.RunResponse(bail=True)
    if status < 0:
        name = signal.Signals(-status).name
        return language_pb2.RunResponse(error=f"Program was ended by signal {-status} ({name})")
    return language_pb2.RunResponse(error=f"Program exited with non-zero exit code: {status}")


def _check_types(python: Interpreter, directory: Path) -> None:
    if not python.typechecker:
        return
    result = subprocess.run(
        [python.executable, "-m", python.typechecker, str(directory)],
        env=python.environment(os.environ),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise HostError(f"{python.typechecker} failed:\n{result.stdout}{result.stderr}".rstrip())
