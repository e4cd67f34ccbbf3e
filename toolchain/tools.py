"""Finds the tools that commands call: the machine's own where their version will do, else the built ones."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from infra import versions
from infra.errors import TrainyardError
from infra.paths import cache_dir
from toolchain import layout, pins, plugins, probe

LANGUAGE_HOST = "pulumi-language-python"
LANGUAGE_HOST_DIRECTORY = Path(__file__).resolve().parent / "language_host" / "bin"
PROVIDER = "pulumi-resource-kubernetes"
BUILD_COMMAND = "make tools"


class State(StrEnum):
    """Where a tool comes from."""

    FOUND = "found"
    BUILT = "built"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """What is known of one tool; `rejected` names an executable on PATH whose version will not do."""

    name: str
    state: State
    path: Path | None = None
    version: str = ""
    rejected: str = ""


def find(name: str) -> Path:
    """The usable executable of that name; raises `TrainyardError` naming the command that builds it."""
    finding = inspect(name)
    if finding.path is None:
        why = f" ({finding.rejected})" if finding.rejected else ""
        raise TrainyardError(
            f"{name} is missing{why}", next_step=f"{BUILD_COMMAND} builds it; `trainyard doctor` lists all"
        )
    return finding.path


def inspect(name: str) -> Finding:
    """Where the tool is, without raising; unknown names are a KeyError."""
    module = pins.module(name)
    rejected = ""
    for path, version in _candidates(name):
        if probe.usable(name, version):
            return Finding(name, State.FOUND, path, version)
        wanted = probe.PROBES[name].wanted
        rejected = rejected or f"{path} is {version or 'of unknown version'}, needed is {wanted}"
    built = layout.built_tool(module, name)
    if built is not None:
        return Finding(name, State.BUILT, built, built_version(name), rejected)
    return Finding(name, State.MISSING, rejected=rejected)


def built_version(name: str) -> str:
    """The version that the pins give a tool."""
    pinned = {
        "pulumi": versions.PULUMI,
        PROVIDER: versions.PULUMI_KUBERNETES,
        "etcd": versions.ETCD,
        "coredns": versions.COREDNS,
        "kueue": versions.KUEUE,
        "jobset": versions.JOBSET,
    }
    return pinned.get(name, versions.KUBERNETES)


def path_entries() -> list[Path]:
    """The directories to put before PATH: of built tools and, where needed, of the language host."""
    entries = [
        layout.home(module) / "bin"
        for module in pins.MODULES
        if module.on_path and any(inspect(tool.name).state is State.BUILT for tool in module.tools)
    ]
    if official_language_host() is None and inspect("pulumi").state is State.FOUND:
        entries.append(LANGUAGE_HOST_DIRECTORY)
    return entries


def chart(name: str) -> Path:
    """The directory of a Helm chart that came with its module: kueue or jobset."""
    directory = layout.home(pins.module(name)) / "charts" / name
    if not (directory / "Chart.yaml").is_file():
        raise TrainyardError(f"the chart of {name} is missing", next_step=f"{BUILD_COMMAND} fetches it")
    return directory


def official_language_host() -> Path | None:
    """Pulumi's own language host for Python, on PATH or beside the machine's own Pulumi; None without one."""
    beside = (path.resolve().parent / LANGUAGE_HOST for path in _on_path("pulumi"))
    for candidate in (*_on_path(LANGUAGE_HOST), *beside):
        if os.access(candidate, os.X_OK) and not _is_ours(candidate):
            return candidate
    return None


def _candidates(name: str) -> Iterator[tuple[Path, str]]:
    """Executables that Trainyard did not build, with their versions, in the order of preference."""
    known = probe.PROBES.get(name)
    if name == PROVIDER:
        yield from ((path, probe.provider_version(path)) for path in _on_path(name))
        yield from ((path, version) for path, version in plugins.installed() if not _is_ours(path))
    elif known is not None:
        yield from ((path, probe.version_text(path, known.arguments)) for path in _on_path(name))


def _on_path(name: str) -> Iterator[Path]:
    """Executables of that name on PATH that are not ours, in order."""
    for directory in os.get_exec_path():
        found = shutil.which(name, path=directory)
        if found and not _is_ours(Path(found)):
            yield Path(found)


def _is_ours(path: Path) -> bool:
    real = path.resolve()
    return real.is_relative_to(cache_dir().resolve()) or real.is_relative_to(LANGUAGE_HOST_DIRECTORY)
