"""What a program's interpreter has installed, and which resource plugins those packages need."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pulumi.runtime.proto import language_pb2, plugin_pb2

from toolchain.language_host.errors import HostError
from toolchain.language_host.interpreter import Interpreter

WITHOUT_PLUGIN = frozenset({"pulumi-policy", "pulumi-esc-sdk"})
LISTING = """
import importlib.metadata, importlib.util, json, pathlib, re
def plain(name): return re.sub(r"[-_.]+", "-", name).lower()
def plugin(name):
    try:
        spec = importlib.util.find_spec(name.replace("-", "_"))
    except (ImportError, ValueError, AttributeError):
        return None
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = pathlib.Path(place) / "pulumi-plugin.json"
        if path.is_file():
            return json.loads(path.read_text())
installed = {plain(d.metadata["Name"]): d for d in importlib.metadata.distributions() if d.metadata["Name"]}
needed = {plain(re.match(r"[\\w.-]+", line)[0]) for d in installed.values() for line in d.requires or []}
print(json.dumps([
    {"name": name, "version": d.version, "required": name in needed, "plugin": plugin(d.metadata["Name"])}
    for name, d in sorted(installed.items())
]))
"""
PRE_RELEASES = {"a": "alpha", "b": "beta", "rc": "rc"}
VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?(?:\.(post\d+))?(?:\.(dev\d+))?")


@dataclass(frozen=True)
class Package:
    """A distribution: `plugin` is its pulumi-plugin.json, `required` says that another one needs it."""

    name: str
    version: str
    required: bool
    plugin: dict[str, Any] | None


def list_packages(python: Interpreter) -> list[Package]:
    """Everything installed for the interpreter; needs no pip in it."""
    result = subprocess.run(
        [python.executable, "-c", LISTING],
        env=python.environment(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise HostError(f"could not list the packages of {python.executable}: {result.stderr.strip()}")
    return [Package(**entry) for entry in json.loads(result.stdout)]


def required_packages(python: Interpreter) -> Iterator[Any]:
    """A `PackageDependency` for each installed package that stands for a resource plugin."""
    for package in list_packages(python):
        named_like_one = package.name.startswith("pulumi-") and package.name not in WITHOUT_PLUGIN
        dependency = _dependency(package) if package.plugin or named_like_one else None
        if dependency is not None:
            yield dependency


def program_dependencies(python: Interpreter, *, transitive: bool) -> Iterator[Any]:
    """A `DependencyInfo` for each package, or only for those that no other package needs."""
    for package in list_packages(python):
        if transitive or not package.required:
            yield language_pb2.DependencyInfo(name=package.name, version=package.version)


def plugin_version(package_version: str) -> str | None:
    """The plugin's semantic version for a Python package's version (PEP 440); None where none can be told."""
    match = VERSION.fullmatch(package_version)
    if match is None:
        return None
    release, pre, pre_number, post, development = match.groups()
    numbers = release.split(".")
    version = ".".join(numbers + ["0"] * (3 - len(numbers)))
    suffix = f"-{PRE_RELEASES[pre]}.{pre_number}" if pre else ""
    build = (post or "") + (development or "")
    return version + suffix + (f"+{build}" if build else "")


def _dependency(package: Package) -> Any | None:
    plugin = package.plugin or {"resource": True}
    version = plugin.get("version") or plugin_version(package.version)
    if not plugin.get("resource") or version is None:
        return None
    return plugin_pb2.PackageDependency(
        name=plugin.get("name") or package.name.removeprefix("pulumi-"),
        version=version if version.startswith("v") else f"v{version}",
        kind="resource",
        server=plugin.get("server", ""),
        parameterization=_parameterization(plugin.get("parameterization")),
        extension=_parameterization(plugin.get("extensionParameterization")),
    )


def _parameterization(given: dict[str, Any] | None) -> Any | None:
    if given is None:
        return None
    value = base64.b64decode(given.get("value", ""))
    return plugin_pb2.PackageParameterization(name=given["name"], version=given["version"], value=value)
