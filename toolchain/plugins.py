"""Pulumi's own plugin directory: what is installed there, and the built provider's place in it.

A provider found on PATH makes Pulumi warn at every command; one in this directory, under its version, does
not.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from infra import versions
from toolchain import layout, pins

PROVIDER = "pulumi-resource-kubernetes"
PREFIX = "resource-kubernetes-"


def directory() -> Path:
    """Where Pulumi keeps plugins."""
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"


def installed() -> Iterator[tuple[Path, str]]:
    """Kubernetes providers that Pulumi would find there, with their versions, newest name first."""
    for entry in sorted(directory().glob(f"{PREFIX}v*"), reverse=True):
        if (entry / PROVIDER).is_file():
            yield entry / PROVIDER, entry.name.removeprefix(PREFIX)


def register() -> Path | None:
    """Make the built provider known to Pulumi; the link's path, or None where none is built."""
    built = layout.built_tool(pins.module(PROVIDER), PROVIDER)
    if built is None:
        return None
    link = directory() / f"{PREFIX}{versions.PULUMI_KUBERNETES}" / PROVIDER
    if link.exists() and not link.is_symlink():
        return link
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink() or link.readlink() != built:
        link.unlink(missing_ok=True)
        link.symlink_to(built)
    return link
