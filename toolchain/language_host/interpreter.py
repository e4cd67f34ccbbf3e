"""Which Python runs a program: the runtime options of Pulumi.yaml, resolved as the official host does."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolchain.language_host.errors import HostError

DEFAULT_ENVIRONMENT = ".venv"
TOOLCHAINS = ("pip", "uv")
TYPECHECKERS = ("mypy", "pyright")


@dataclass(frozen=True)
class Interpreter:
    """A Python executable, the virtual environment it belongs to, and what checks the types before a run."""

    executable: str
    virtual_environment: Path | None = None
    typechecker: str = ""
    toolchain: str = "pip"

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with the virtual environment activated."""
        result = dict(base)
        if self.virtual_environment is None:
            return result
        result.pop("PYTHONHOME", None)
        binaries = str(self.virtual_environment / "bin")
        result["PATH"] = os.pathsep.join(filter(None, (binaries, result.get("PATH", ""))))
        result["VIRTUAL_ENV"] = str(self.virtual_environment)
        return result


def interpreter(info: Any, *, is_plugin: bool = False) -> Interpreter:
    """The interpreter for a `ProgramInfo`; raises `HostError` when the options name one that is not there."""
    options = read_options(info)
    environment = environment_path(info, is_plugin=is_plugin)
    if environment is None:
        return Interpreter(_ambient_python(), None, options["typechecker"], options["toolchain"])
    executable = environment / "bin" / "python"
    if not executable.is_file():
        raise HostError(_missing_environment(options["virtualenv"], environment))
    return Interpreter(str(executable), environment, options["typechecker"], options["toolchain"])


def read_options(info: Any) -> dict[str, str]:
    """The runtime options that matter here, each a string, empty where the project sets none."""
    given = dict(info.options.items())
    options = {name: given.get(name, "") for name in ("virtualenv", "toolchain", "typechecker")}
    for name, value in options.items():
        if not isinstance(value, str):
            raise HostError(f"runtime option '{name}' must be a string")
    _one_of("toolchain", options["toolchain"], TOOLCHAINS)
    _one_of("typechecker", options["typechecker"], TYPECHECKERS)
    return options


def environment_path(info: Any, *, is_plugin: bool = False) -> Path | None:
    """Where the program's virtual environment is or would be; None for the Python on PATH."""
    options = read_options(info)
    root = Path(info.root_directory)
    if options["virtualenv"]:
        return root / options["virtualenv"]
    project = _locked_project(Path(info.program_directory))
    if options["toolchain"] == "uv" or (not options["toolchain"] and project is not None):
        base = project or root
        return base / (os.environ.get("UV_PROJECT_ENVIRONMENT") or DEFAULT_ENVIRONMENT)
    return root / "venv" if is_plugin else None


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value and value not in allowed:
        known = " and ".join(allowed)
        raise HostError(f"runtime option '{name}' is {value!r}; this language host knows {known}")


def _locked_project(directory: Path) -> Path | None:
    found = (parent for parent in (directory, *directory.parents) if (parent / "uv.lock").is_file())
    return next(found, None)


def _ambient_python() -> str:
    chosen = os.environ.get("PULUMI_PYTHON_CMD")
    names = [chosen] if chosen else ["python3", "python"]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise HostError(f"no Python found on PATH (looked for {', '.join(names)})")


def _missing_environment(option: str, path: Path) -> str:
    state = "is not a virtual environment" if path.exists() else "does not exist"
    setting = f"the 'virtualenv' option is set to '{option}', but " if option else ""
    create = (
        f"create it with `pulumi install`, or with `python3 -m venv {path}` and the program's requirements"
    )
    return f"{setting}{path} {state}; {create}"
