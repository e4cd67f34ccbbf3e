"""Images written directly, and archives that hold only what a store lacks."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.images import tar
from infra.images.archive import Image, Program, archive_writer, assemble, scratch_image, write_layer


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    path.chmod(0o755)
    return path


@pytest.fixture
def image(binary: Path, tmp_path: Path) -> Image:
    program = Program("localhost/a/b:1", {"/usr/bin/x": binary}, ("/usr/bin/x", "--flag"), user="65532:65532")
    return scratch_image(program, directory=tmp_path / "layers")


def archived(images: list[Image], present: frozenset[str] = frozenset()) -> dict[str, bytes]:
    stream = io.BytesIO()
    archive_writer(images, present=present)(stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        members = {one.name: archive.extractfile(one) for one in archive}
        return {name: member.read() for name, member in members.items() if member is not None}


def blob(files: dict[str, bytes], digest: str) -> Any:
    return json.loads(files[f"blobs/{digest.replace(':', '/')}"])


def test_an_archive_can_be_followed_from_its_index_to_the_program(image: Image) -> None:
    files = archived([image])
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "localhost/a/b:1"
    manifest = blob(files, entry["digest"])
    config = blob(files, manifest["config"]["digest"])
    assert config["config"]["Entrypoint"] == ["/usr/bin/x", "--flag"]
    assert config["config"]["User"] == "65532:65532"
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    with tarfile.open(fileobj=io.BytesIO(files[f"blobs/{layer['digest'].replace(':', '/')}"])) as content:
        assert [one.name for one in content] == ["usr", "usr/bin", "usr/bin/x"]
        assert content.getmember("usr/bin/x").mode == 0o755


def test_every_blob_has_the_digest_and_size_that_it_says(image: Image) -> None:
    for name, data in archived([image]).items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(data).hexdigest()}"
    assert all(
        one.size_bytes == one.source.stat().st_size for one in image.blobs if isinstance(one.source, Path)
    )


def test_a_thin_archive_leaves_out_what_the_store_has(image: Image, tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text("x = 1\n")
    new = write_layer(tar.Content({"/code.py": code}), directory=tmp_path / "layers")
    changed = assemble("localhost/a/b:2", layers=[*image.layers, new], config={})
    present = frozenset(one.digest for one in image.blobs)
    expected = {changed.manifest.path, changed.config.path, new.blob.path, "index.json", "oci-layout"}
    assert set(archived([changed], present=present)) == expected


def test_images_that_share_a_layer_carry_it_once(image: Image) -> None:
    other = assemble("localhost/a/c:1", layers=image.layers, config={})
    stream = io.BytesIO()
    archive_writer([image, other])(stream)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        assert archive.getnames().count(image.layers[0].blob.path) == 1


def test_equal_files_give_equal_images_whenever_they_were_written(binary: Path, tmp_path: Path) -> None:
    program = Program("localhost/a/b:1", {"/x": binary}, ("/x",))
    first = scratch_image(program, directory=tmp_path / "first")
    os.utime(binary, (1, 1))
    second = scratch_image(program, directory=tmp_path / "second")
    assert first.manifest.digest == second.manifest.digest


def test_a_tree_keeps_links_and_the_right_to_execute(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "tool").write_text("#!/bin/sh\n")
    (root / "sub" / "tool").chmod(0o750)
    (root / "data").write_text("x")
    (root / "data").chmod(0o600)
    (root / "link").symlink_to("sub/tool")
    layer = write_layer(tar.tree(root, target="/opt"), directory=tmp_path / "layers")
    with tarfile.open(Path(str(layer.blob.source))) as content:
        modes = {one.name: (one.mode, one.uid, one.mtime) for one in content if one.isfile()}
        assert modes == {"opt/data": (0o644, 0, 0), "opt/sub/tool": (0o755, 0, 0)}
        assert content.getmember("opt/link").linkname == "sub/tool"
