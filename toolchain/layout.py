"""Where built modules lie: `<cache>/toolchain/<module>-<key>/`, with a key made from all that is pinned."""

import hashlib
import platform
from pathlib import Path

from infra.paths import cache_dir
from toolchain.pins import Module

KEY_LENGTH = 12
PINNED_PATTERNS = ("go.mod", "go.sum", "*.go")


def root() -> Path:
    """The directory that holds all built modules."""
    return cache_dir() / "toolchain"


def key(module: Module) -> str:
    """Hex key over go.mod, go.sum, the Go sources, scripts, flags and the machine's architecture."""
    digest = hashlib.sha256()
    for path in pinned_files(module):
        content = path.read_bytes()
        digest.update(f"{path.name}\0{len(content)}\0".encode() + content)
    digest.update(module.description().encode())
    digest.update(f"{platform.system()}-{platform.machine()}".encode())
    return digest.hexdigest()[:KEY_LENGTH]


def pinned_files(module: Module) -> list[Path]:
    """The files of a module's directory that determine what is built, in a fixed order."""
    found = {path for pattern in PINNED_PATTERNS for path in module.directory.glob(pattern)}
    found |= {module.directory / name for name in module.scripts}
    return sorted(found)


def home(module: Module) -> Path:
    """The directory of a module as pinned now; it exists only when the build has ended well."""
    return root() / f"{module.name}-{key(module)}"


def built_tool(module: Module, name: str) -> Path | None:
    """The built executable, or None."""
    path = home(module) / "bin" / name
    return path if path.is_file() else None
