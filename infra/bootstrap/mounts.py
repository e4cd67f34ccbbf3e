"""The mount table of a host, read from the kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.host import Host

TABLE = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """One mounted filesystem: where, of which type, with which options of its superblock."""

    point: Path
    filesystem: str
    options: tuple[str, ...] = ()


def mounts(host: Host) -> list[Mount]:
    """Every mount, in the order in which they were made."""
    return [_parse(line) for line in host.read(TABLE).splitlines()]


def below(found: Sequence[Mount], tops: Sequence[Path]) -> list[Mount]:
    """The mounts at or under one of `tops`, in the order in which they can be unmounted."""
    inside = [mount for mount in found if any(mount.point.is_relative_to(top) for top in tops)]
    return inside[::-1]


def _parse(line: str) -> Mount:
    fields, _, rest = line.partition(" - ")
    filesystem, _, options = rest.split(" ", maxsplit=2)
    return Mount(Path(_unescape(fields.split(" ")[4])), filesystem, tuple(options.split(",")))


def _unescape(text: str) -> str:
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text
