"""A toolchain of the tests' own: fake executables on PATH, and one tiny Go module for the real ones."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolchain import go, pins, probe

MAIN = """package main

var version string

func main() { println(version) }
"""


@pytest.fixture
def bare_machine(places: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH directory, no Pulumi home and no cache; returns the directory on PATH."""
    binaries = places / "bin"
    binaries.mkdir()
    monkeypatch.setenv("PATH", str(binaries))
    monkeypatch.setenv("HOME", str(places / "home"))
    monkeypatch.setenv("PULUMI_HOME", str(places / "pulumi-home"))
    probe.version_text.cache_clear()
    return binaries


@pytest.fixture
def fake(bare_machine: Path) -> Callable[[str, str], Path]:
    """Puts an executable on PATH that prints a text whatever it is asked."""

    def make(name: str, text: str) -> Path:
        return script(bare_machine / name, f"echo '{text}'")

    return make


@pytest.fixture(scope="session")
def go_program() -> Path:
    """The machine's Go; looked for before a test has a cache of its own, where a fetched Go is missed."""
    found = go.installed((1, 20, 0))
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("this machine has no Go; next: make tools, or install Go")
    if found is None:
        pytest.skip("this machine has no Go")
    return found


@pytest.fixture
def tiny(go_program: Path, places: Path, monkeypatch: pytest.MonkeyPatch) -> pins.Module:
    """The only module of the toolchain: a Go program of three lines that prints its version."""
    monkeypatch.setenv("PATH", f"{go_program.parent}{os.pathsep}{os.environ['PATH']}")
    directory = places / "modules" / "tiny"
    directory.mkdir(parents=True)
    (directory / "go.mod").write_text("module example.com/tiny\n\ngo 1.20\n")
    (directory / "go.sum").touch()
    (directory / "main.go").write_text(MAIN)
    module = pins.Module("tiny", (pins.Tool("tiny", "."),), 0.1, variables=(("main.version", "v1"),))
    monkeypatch.setattr(pins, "MODULES_DIRECTORY", places / "modules")
    monkeypatch.setenv("PULUMI_HOME", str(places / "pulumi-home"))
    use(monkeypatch, module)
    return module


def use(monkeypatch: pytest.MonkeyPatch, module: pins.Module) -> None:
    """Make this module the toolchain's only one."""
    names = {tool.name: module for tool in module.tools} | {module.name: module}
    monkeypatch.setattr(pins, "MODULES", (module,))
    monkeypatch.setattr(pins, "_BY_NAME", names)
    monkeypatch.setattr("toolchain.plugins.register", lambda: None)


def script(path: Path, body: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
