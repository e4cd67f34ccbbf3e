"""Shared libraries that a program needs, so that an image from scratch can carry them along."""

import re
import subprocess
from pathlib import Path

LINE = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


def needed_by(binary: Path) -> dict[str, Path]:
    """Libraries and loader of a program, as path in the image -> file; none for a static one."""
    listing = subprocess.run(["ldd", str(binary)], capture_output=True, text=True)
    return parse(listing.stdout) if listing.returncode == 0 else {}


def parse(listing: str) -> dict[str, Path]:
    """The absolute paths in the output of ldd(1)."""
    return {path: Path(path) for path in LINE.findall(listing)}
