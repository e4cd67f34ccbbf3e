"""The image layout on disk."""

import json
from pathlib import Path

import pytest

from infra.images import tar
from infra.images.archive import Image, assemble, write_layer
from infra.images.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "layout")
    made.prepare()
    return made


def make(layout: Layout, name: str, text: str) -> Image:
    source = layout.root / f"{name}.txt"
    source.write_text(text)
    layer = write_layer(tar.Content({"/file": source}), directory=layout.blobs)
    image = assemble(f"localhost/x/{name}:1", layers=[layer], config={"User": name})
    layout.add(image)
    return image


def test_an_image_comes_back_as_it_was_added(layout: Layout) -> None:
    image = make(layout, "a", "one")
    found = layout.image("localhost/x/a:1")
    assert found is not None
    assert [one.digest for one in found.blobs] == [one.digest for one in image.blobs]
    assert layout.image("localhost/x/b:1") is None


def test_an_image_without_one_of_its_blobs_is_no_image(layout: Layout) -> None:
    image = make(layout, "a", "one")
    layout.file(image.layers[0].blob.digest).unlink()
    assert layout.image("localhost/x/a:1") is None


def test_an_image_that_another_tool_pushed_is_read_with_its_compressed_layers(layout: Layout) -> None:
    image = make(layout, "a", "one")
    manifest = json.loads(layout.file(image.manifest.digest).read_text())
    manifest["layers"][0]["mediaType"] = "application/vnd.oci.image.layer.v1.tar+gzip"
    layout.file(image.manifest.digest).write_text(json.dumps(manifest))
    index = json.loads((layout.root / "index.json").read_text())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": "localhost/x/pushed:1"}
    (layout.root / "index.json").write_text(json.dumps(index))
    found = layout.image("localhost/x/pushed:1")
    assert found is not None
    assert found.layers[0].media_type.endswith("+gzip")


def test_adding_again_replaces(layout: Layout) -> None:
    make(layout, "a", "one")
    make(layout, "b", "two")
    make(layout, "a", "three")
    assert [image.reference for image in layout.images()] == ["localhost/x/b:1", "localhost/x/a:1"]


def test_what_no_kept_image_needs_is_deleted(layout: Layout) -> None:
    kept, gone = make(layout, "a", "one"), make(layout, "b", "two")
    assert layout.keep_only(["localhost/x/a:1"]) > 0
    assert layout.image("localhost/x/a:1") is not None
    assert not layout.file(gone.layers[0].blob.digest).exists()
    assert {path.name for path in layout.blobs.iterdir()} == {
        one.digest.partition(":")[2] for one in kept.blobs
    }


def test_large_blobs_become_one_file_with_the_stores(layout: Layout, tmp_path: Path) -> None:
    image = make(layout, "a", "x" * (2 << 20))
    path = layout.file(image.layers[0].blob.digest)
    store = tmp_path / "store"
    store.mkdir()
    twin = store / path.name
    twin.write_bytes(path.read_bytes())
    layout.share_with(store)
    assert path.samefile(twin)
    assert layout.image("localhost/x/a:1") is not None


def test_a_half_written_twin_is_not_taken(layout: Layout, tmp_path: Path) -> None:
    image = make(layout, "a", "x" * (2 << 20))
    path = layout.file(image.layers[0].blob.digest)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / path.name).write_bytes(b"half")
    layout.share_with(tmp_path / "store")
    assert path.stat().st_size > 1000
