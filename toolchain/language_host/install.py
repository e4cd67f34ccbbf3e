"""InstallDependencies: the virtual environment of a program or plugin, and its requirements."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pulumi.runtime.proto import language_pb2

from toolchain.language_host.errors import HostError
from toolchain.language_host.interpreter import environment_path, interpreter, read_options
from toolchain.language_host.processes import Processes


def install_dependencies(request: Any, *, processes: Processes) -> Iterator[Any]:
    """Run what the project's toolchain needs, yielding an `InstallDependenciesResponse` for each line."""
    directory = Path(request.info.program_directory)
    yield _line(b"Installing dependencies...\n\n")
    for command in commands(request):
        yield from _run(command, directory=directory, processes=processes)
    yield _line(b"Finished installing dependencies\n\n")


def commands(request: Any) -> Iterator[list[str]]:
    """The commands to run, in order; each is made only when those before it have run."""
    info = request.info
    environment = environment_path(info, is_plugin=request.is_plugin)
    if read_options(info)["toolchain"] == "uv":
        yield ["uv", "sync", "--inexact"]
        return
    if environment is not None and not (environment / "bin" / "python").exists():
        yield [sys.executable, "-m", "venv", str(environment)]
    python = interpreter(info, is_plugin=request.is_plugin).executable
    directory = Path(info.program_directory)
    if (directory / "requirements.txt").is_file():
        yield [python, "-m", "pip", "install", "-r", "requirements.txt"]
    elif request.is_plugin and (directory / "pyproject.toml").is_file():
        yield [python, "-m", "pip", "install", "."]


def _run(command: Sequence[str], *, directory: Path, processes: Processes) -> Iterator[Any]:
    try:
        child = processes.start(command, environment=os.environ, directory=directory, capture=True)
    except FileNotFoundError as error:
        raise HostError(f"{command[0]} is not installed") from error
    output, errors = child.communicate()
    yield _line(output)
    yield language_pb2.InstallDependenciesResponse(stderr=errors)
    if processes.wait(child) != 0:
        raise HostError(f"`{' '.join(command)}` failed: {errors.decode(errors='replace').strip()}")


def _line(data: bytes) -> Any:
    return language_pb2.InstallDependenciesResponse(stdout=data)
