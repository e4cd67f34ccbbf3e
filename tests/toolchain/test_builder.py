"""Builds are cached under their pins, leave nothing half made, and explain their failures."""

import fcntl
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.errors import InvalidInput, TrainyardError
from tests.toolchain.conftest import script, use
from toolchain import builder, compiler, layout, pins, tools


def run(path: Path) -> str:
    return subprocess.run([str(path)], capture_output=True, text=True, check=True).stderr.strip()


def test_a_module_is_built_once_with_its_variables(tiny: pins.Module) -> None:
    assert builder.build() == ["tiny"]
    assert run(tools.find("tiny")) == "v1"
    assert builder.build() == []


def test_the_checkout_and_the_cache_hold_no_leftovers(tiny: pins.Module) -> None:
    before = sorted(path.name for path in tiny.directory.iterdir())
    builder.build()
    assert sorted(path.name for path in tiny.directory.iterdir()) == before
    assert {path.name for path in layout.root().iterdir()} == {".lock", layout.home(tiny).name}


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_a_changed_pin_is_another_build(tiny: pins.Module, file: str) -> None:
    builder.build()
    path = tiny.directory / file
    path.write_text(path.read_text() + "\n")
    assert tools.inspect("tiny").state is tools.State.MISSING
    assert builder.build() == ["tiny"]


def test_a_changed_flag_is_another_build(tiny: pins.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    builder.build()
    use(monkeypatch, replace(tiny, variables=(("main.version", "v2"),)))
    assert builder.build() == ["tiny"]
    assert run(tools.find("tiny")) == "v2"


def test_the_expected_time_is_no_part_of_the_key(tiny: pins.Module) -> None:
    assert layout.key(replace(tiny, minutes=99)) == layout.key(tiny)


def test_a_compiler_error_is_shown_and_leaves_nothing(tiny: pins.Module) -> None:
    (tiny.directory / "main.go").write_text("package main\n\nfunc main() { undefinedFunction() }\n")
    with pytest.raises(TrainyardError, match="undefined: undefinedFunction") as failure:
        builder.build()
    assert "make tools" in failure.value.next_step
    assert [path.name for path in layout.root().iterdir()] == [".lock"]


def test_an_unreachable_proxy_is_named(
    tiny: pins.Module, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("GOMODCACHE", str(places / "modcache"))
    (tiny.directory / "go.mod").write_text(
        "module example.com/tiny\n\ngo 1.20\n\nrequire example.com/dep v1.0.0\n"
    )
    digest = "h1:" + "A" * 43 + "="
    (tiny.directory / "go.sum").write_text(
        f"example.com/dep v1.0.0 {digest}\nexample.com/dep v1.0.0/go.mod {digest}\n"
    )
    (tiny.directory / "main.go").write_text('package main\n\nimport _ "example.com/dep"\n\nfunc main() {}\n')
    with pytest.raises(TrainyardError, match="proxy cannot be reached") as failure:
        builder.build()
    assert "GOPROXY" in failure.value.next_step


def test_an_interrupted_build_leaves_nothing_and_goes_on(
    tiny: pins.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compiler.compile_module

    def interrupted(*arguments: Any, **named: Any) -> None:
        whole(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(compiler, "compile_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        builder.build()
    assert not layout.home(tiny).exists()
    monkeypatch.setattr(compiler, "compile_module", whole)
    assert builder.build() == ["tiny"]


def test_what_a_killed_build_left_is_removed(tiny: pins.Module) -> None:
    stale = layout.root() / f"{builder.STAGING_PREFIX}tiny-dead"
    script(stale / "result" / "bin" / "tiny", "exit 1")
    builder.build()
    assert not stale.exists()


def test_finished_modules_stay_when_a_later_one_fails(
    tiny: pins.Module, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(tiny, name="broken", tools=(pins.Tool("broken", "."),))
    broken.directory.mkdir()
    (broken.directory / "go.mod").write_text("module example.com/broken\n\ngo 1.20\n")
    monkeypatch.setattr(pins, "MODULES", (tiny, broken))
    monkeypatch.setattr(pins, "_BY_NAME", {"tiny": tiny, "broken": broken})
    with pytest.raises(TrainyardError, match="building broken failed"):
        builder.build()
    assert run(tools.find("tiny")) == "v1"


def test_a_second_build_waits_for_the_first(tiny: pins.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()
    say, flock = builder._say, fcntl.flock
    asked: list[int] = []

    def listen(line: str) -> None:
        say(line)
        if "waiting" in line:
            waiting.set()

    def lock(handle: Any, operation: int) -> None:
        asked.append(operation)
        flock(handle, operation)

    monkeypatch.setattr(builder, "_say", listen)
    monkeypatch.setattr(fcntl, "flock", lock)
    layout.root().mkdir(parents=True)
    with (layout.root() / ".lock").open("a+") as first:
        flock(first, fcntl.LOCK_EX)
        second = threading.Thread(target=builder.build)
        second.start()
        assert waiting.wait(60)
    second.join(60)
    assert asked == [fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_EX]
    assert layout.home(tiny).exists()


def test_a_usable_tool_on_path_is_not_built(
    tiny: pins.Module, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, replace(tiny, tools=(pins.Tool("etcd", "."),)))
    script(places / "bin" / "etcd", "echo etcd Version: 3.6.13")
    monkeypatch.setenv("PATH", f"{places / 'bin'}:/usr/bin:/bin")
    assert builder.build() == []
    assert tools.find("etcd") == places / "bin" / "etcd"


def test_an_unknown_name_lists_the_known(tiny: pins.Module) -> None:
    with pytest.raises(InvalidInput, match="choose from: tiny"):
        builder.build(["kubctl"])


def test_a_cache_that_cannot_be_written_names_the_variable(
    tiny: pins.Module, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places / "file").touch()
    monkeypatch.setenv("TRAINYARD_CACHE", str(places / "file"))
    with pytest.raises(TrainyardError, match="TRAINYARD_CACHE"):
        builder.build()
