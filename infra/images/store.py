"""The cluster's image store: what it holds, what it lacks, and bringing that in."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from infra.bootstrap import runtime
from infra.bootstrap.host import Host
from infra.bootstrap.plan import Plan
from infra.images.archive import Image, Program, archive_writer, scratch_image


def import_images(host: Host, plan: Plan, images: Sequence[Image]) -> None:
    """Bring images in; only the blobs that the store lacks travel."""
    present = frozenset(runtime.ctr(host, plan, "content", "list", "--quiet").output.split())
    command = runtime.ctr_command(plan, "images", "import", "-")
    host.feed(command, archive_writer(images, present=present), next_step=runtime.read_log(plan))


def ensure_programs(host: Host, plan: Plan, programs: Sequence[Program]) -> list[str]:
    """Build and import images from scratch that are missing or whose files changed; returns which."""
    known, stored = _read_keys(host, plan), runtime.image_names(host, plan)
    keys = {program.reference: key(program) for program in programs}
    missing = [
        one
        for one in programs
        if one.reference not in stored or known.get(one.reference) != keys[one.reference]
    ]
    if missing:
        with tempfile.TemporaryDirectory(dir=plan.directories.containerd) as name:
            import_images(host, plan, [scratch_image(program, directory=Path(name)) for program in missing])
        host.write(_keys_file(plan), json.dumps({**known, **keys}, indent=2, sort_keys=True))
    return [program.reference for program in missing]


def key(program: Program) -> str:
    """Identity of a program's files without reading them: names, sizes and times of change."""
    text = repr([program.entrypoint, program.user, *map(_identity, sorted(program.files.items()))])
    return hashlib.sha256(text.encode()).hexdigest()


def digests(host: Host, plan: Plan, *, prefix: str) -> dict[str, str]:
    """Manifest digests of the images whose reference starts with `prefix`."""
    return {name: digest for name, digest in _listing(host, plan) if name.startswith(prefix)}


def remove(host: Host, plan: Plan, references: Sequence[str]) -> None:
    """Remove images under all their names; containerd deletes content that nothing else uses."""
    listing = _listing(host, plan)
    targets = {digest for name, digest in listing if name in references}
    names = [name for name, digest in listing if digest in targets]
    if names:
        runtime.ctr(host, plan, "images", "remove", "--sync", *names)


def in_use(host: Host, plan: Plan) -> set[str]:
    """References of the images that containers were made from."""
    rows = runtime.ctr(host, plan, "containers", "list").output.splitlines()[1:]
    return {row.split()[1] for row in rows if len(row.split()) > 1}


def content_directory(plan: Plan) -> Path:
    """Where containerd keeps blobs, named by their digest."""
    return plan.directories.containerd / "io.containerd.content.v1.content" / "blobs" / "sha256"


def _listing(host: Host, plan: Plan) -> list[tuple[str, str]]:
    rows = [row.split() for row in runtime.ctr(host, plan, "images", "list").output.splitlines()[1:]]
    return [(row[0], row[2]) for row in rows if len(row) > 2]


def _identity(item: tuple[str, Path]) -> tuple[str, str, int, int]:
    target, source = item
    status = source.stat()
    return target, str(source), status.st_size, status.st_mtime_ns


def _keys_file(plan: Plan) -> Path:
    return plan.directories.containerd / "programs.json"


def _read_keys(host: Host, plan: Plan) -> dict[str, str]:
    path = _keys_file(plan)
    return dict(json.loads(host.read(path))) if host.exists(path) else {}
