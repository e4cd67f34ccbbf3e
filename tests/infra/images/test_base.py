"""The base image: a Debian root made here, or an official image by digest."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap.progress import Progress
from infra.images import base, tags
from infra.images.archive import assemble
from infra.images.workspace import Workspace

PINNED = "docker.io/library/python@sha256:" + "a" * 64


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    made = Workspace(tmp_path / "images")
    made.layout.prepare()
    return made


def quiet() -> Progress:
    return Progress(stream=io.StringIO())


def let_push_work(host: Any, space: Workspace, reference: str) -> None:
    """What buildah's push would have left in the layout."""
    pushed = assemble(reference, layers=[], config={})
    original = host.run

    def run(args: Any, **options: Any) -> Any:
        if "push" in [str(arg) for arg in args]:
            space.layout.add(pushed)
        return original(args, **options)

    host.run = run


def test_a_debian_root_comes_from_the_machines_own_mirror(host: Any, space: Workspace) -> None:
    host.answer("apt-get", "indextargets", output="http://mirror.example/debian bookworm main\n")
    let_push_work(host, space, tags.base_image())
    base.ensure(host, space, base="", progress=quiet())
    (command,) = host.ran("debootstrap")
    assert command[-1] == "http://mirror.example/debian"
    assert "--variant=minbase" in command
    (build,) = host.ran("buildah", "bud")
    assert "BASE=scratch" in build
    assert build[build.index("--isolation") + 1] == "chroot"


def test_an_official_image_needs_no_debian_root(host: Any, space: Workspace) -> None:
    let_push_work(host, space, tags.base_image(base=PINNED))
    seen: list[list[str]] = []
    original = host.run

    def run(args: Any, **options: Any) -> Any:
        if "bud" in [str(arg) for arg in args]:
            with tarfile.open(Path(str(args[-1])) / "rootfs.tar") as archive:
                seen.append(archive.getnames())
        return original(args, **options)

    host.run = run
    base.ensure(host, space, base=PINNED, progress=quiet())
    assert host.ran("debootstrap") == []
    assert f"BASE={PINNED}" in host.ran("buildah", "bud")[0]
    assert seen == [[]]


def test_a_base_that_is_there_is_not_built_again(host: Any, space: Workspace) -> None:
    space.layout.add(assemble(tags.base_image(), layers=[], config={}))
    host.answer("buildah", "images", output=f"{tags.base_image()}\n")
    base.ensure(host, space, base="", progress=quiet())
    assert host.ran("buildah", "bud") == []


@pytest.mark.parametrize(
    ("listing", "mirrors"),
    [
        ("", []),
        (
            "http://a bookworm-security main\nhttp://b bookworm main\nhttp://c bookworm main\n",
            ["http://b", "http://c"],
        ),
        ("http://a trixie main\n", []),
    ],
)
def test_the_mirror_is_that_of_the_release(listing: str, mirrors: list[str]) -> None:
    assert base.parse_mirrors(listing) == mirrors
