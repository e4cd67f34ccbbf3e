"""The trainer's image from its parts."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError
from infra.images import tar, trainer
from infra.images.archive import Image, Layer, assemble, write_layer
from infra.images.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = Workspace(tmp_path / "images", checkout=checkout)
    made.layout.prepare()
    base_file, package = tmp_path / "base", tmp_path / "package.py"
    base_file.write_text("base")
    package.write_text("package")
    lower = _layer(made, "/base", base_file)
    base = assemble("localhost/trainyard/base:1", layers=[lower], config={"Env": ["PATH=/bin"]})
    packages = _layer(made, "/opt/packages/package.py", package)
    monkeypatch.setattr(trainer.base_image, "ensure", lambda *args, **options: base)
    monkeypatch.setattr(trainer.packages, "ensure", lambda *args, **options: packages)
    monkeypatch.setattr(trainer, "compile_python", lambda *args, **options: None)
    monkeypatch.setattr(trainer.tags, "trainer_image", lambda base: "localhost/trainyard/trainer:1")
    return made


def _layer(space: Workspace, target: str, source: Path) -> Layer:
    return write_layer(tar.Content({target: source}), directory=space.layout.blobs)


def build(host: Any, space: Workspace) -> Image:
    return trainer.assemble_trainer(host, space, base="", progress=Progress(stream=io.StringIO()))


def test_the_code_is_the_last_and_smallest_layer(host: Any, space: Workspace) -> None:
    image = build(host, space)
    assert len(image.layers) == 3
    with tarfile.open(Path(str(image.layers[-1].blob.source))) as content:
        files = [one.name for one in content if one.isfile()]
    assert files == [
        "opt/code/trainer/__init__.py",
        "opt/code/trainer/__main__.py",
        "opt/code/trainer/data/order.py",
    ]


def test_a_change_of_code_keeps_all_other_layers(host: Any, space: Workspace) -> None:
    before = build(host, space)
    (space.checkout / "trainer/data/order.py").write_text("ORDER = 2\n")
    after = build(host, space)
    assert [one.diff_id for one in after.layers[:-1]] == [one.diff_id for one in before.layers[:-1]]
    assert after.layers[-1].diff_id != before.layers[-1].diff_id


def test_the_image_runs_unprivileged_with_the_bases_environment(host: Any, space: Workspace) -> None:
    build(host, space)
    image = space.layout.image("localhost/trainyard/trainer:1")
    assert image is not None
    config = json.loads(Path(str(image.config.source)).read_text())["config"]
    assert config["User"] == "10001:10001"
    assert config["Env"] == ["PATH=/bin", "A=1"]
    assert config["Entrypoint"] == ["python", "-m", "trainer"]


def test_sources_that_change_meanwhile_are_not_named_wrongly(
    host: Any, space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["localhost/trainyard/trainer:1", "localhost/trainyard/trainer:2"])
    monkeypatch.setattr(trainer.tags, "trainer_image", lambda base: next(names))
    with pytest.raises(TrainyardError, match="changed while"):
        build(host, space)
    assert space.layout.images() == []
