"""Builds what a machine lacks into the cache: staged, then renamed, so that what is there is whole."""

import fcntl
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from infra.errors import InvalidInput, TrainyardError
from toolchain import compiler, go, layout, pins, plugins, tools

STAGING_PREFIX = ".staging-"


def build(names: Sequence[str] = (), *, force: bool = False) -> list[str]:
    """Build the named modules (or those that give the named tools; default all) that are missing.

    What is usable on PATH is not built, unless `force`. Returns the names of the modules built. One build
    at a time runs on a machine, another one waits. After an interruption the next build goes on: finished
    modules stay, and Go's own cache keeps the finished part of the rest.
    """
    chosen = select(names)
    with _lock():
        _remove_stale_staging()
        todo = [module for module in chosen if force or is_missing(module)]
        if todo:
            _build_all(todo)
        plugins.register()
    return [module.name for module in todo]


def select(names: Sequence[str]) -> list[pins.Module]:
    """The modules of those names, in the order of the pins; raises `InvalidInput` for an unknown one."""
    try:
        wanted = {pins.module(name) for name in names}
    except KeyError as error:
        known = ", ".join(module.name for module in pins.MODULES)
        raise InvalidInput(
            f"there is no tool or module {error}", next_step=f"choose from: {known}"
        ) from error
    return [module for module in pins.MODULES if module in wanted or not names]


def is_missing(module: pins.Module) -> bool:
    """Whether a tool of the module is neither usable on PATH nor built, or a chart is not there."""
    if module.charts and not layout.home(module).is_dir():
        return True
    return any(tools.inspect(tool.name).state is tools.State.MISSING for tool in module.tools)


def _build_all(modules: list[pins.Module]) -> None:
    toolchain = go.executable(go.minimum(modules))
    minutes = sum(module.minutes for module in modules)
    _say(
        f"building {', '.join(module.name for module in modules)} with {go.version_line(toolchain)}:"
        f" about {minutes:.0f} min on two cores from nothing; may be interrupted and started again"
    )
    started = time.monotonic()
    for number, module in enumerate(modules, 1):
        label = f"[{number}/{len(modules)}] {module.name}"
        _say(f"{label}: building, about {module.minutes:g} min")
        seconds = _build_one(module, toolchain, label=label)
        _say(f"{label}: built in {_clock(seconds)}, {_clock(time.monotonic() - started)} in all")


def _build_one(module: pins.Module, toolchain: Path, *, label: str) -> float:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=layout.root(), prefix=f"{STAGING_PREFIX}{module.name}-") as staging:
        result = Path(staging) / "result"
        compiler.compile_module(
            module,
            toolchain,
            source=Path(staging) / "source",
            result=result,
            progress=lambda seconds: _say(f"{label}: {_clock(seconds)} of about {module.minutes:g} min"),
        )
        seconds = time.monotonic() - started
        _write_record(module, result, toolchain=toolchain, seconds=seconds)
        target = layout.home(module)
        shutil.rmtree(target, ignore_errors=True)
        result.rename(target)
    return seconds


def _write_record(module: pins.Module, result: Path, *, toolchain: Path, seconds: float) -> None:
    record = {
        "module": module.name,
        "key": layout.key(module),
        "go": go.version_line(toolchain),
        "seconds": round(seconds, 1),
        "tools": [tool.name for tool in module.tools],
    }
    (result / "built.json").write_text(json.dumps(record, indent=2) + "\n")


@contextmanager
def _lock() -> Iterator[None]:
    """Hold the machine's build lock; it is released with the process, whatever ends it."""
    directory = layout.root()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = (directory / ".lock").open("a+")
    except OSError as error:
        raise TrainyardError(
            f"the tool cache {directory} cannot be written: {error.strerror}",
            next_step="set TRAINYARD_CACHE to a directory of yours",
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another build is running; waiting for it to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _remove_stale_staging() -> None:
    for path in layout.root().glob(f"{STAGING_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
