"""The layer of dependencies."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError
from infra.images import packages
from infra.images.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    uv = tmp_path / "cache" / "uv-0.9" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text("")
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "compile_python", lambda *args, **options: None)
    made = Workspace(tmp_path / "images", checkout=checkout)
    made.layout.prepare()
    return made


def ensure(host: Any, space: Workspace, tag: str) -> Any:
    progress = Progress(stream=io.StringIO())
    return packages.ensure(
        host, space, tag=tag, base_reference="base:1", target="/opt/packages", progress=progress
    )


def test_only_hashed_wheels_for_the_images_python_are_installed(host: Any, space: Workspace) -> None:
    ensure(host, space, "tag")
    (command,) = host.ran("uv", "pip", "install")
    assert {"--require-hashes", "--no-build", "--no-deps"} <= set(command)
    assert command[command.index("--python-version") + 1] == "3.11"
    assert command[-1] == str(space.checkout / "locks/trainer.txt")


def test_a_known_layer_is_not_written_again(host: Any, space: Workspace) -> None:
    first = ensure(host, space, "tag")
    host.commands.clear()
    assert ensure(host, space, "tag").blob.digest == first.blob.digest
    assert host.commands == []


def test_another_lock_is_another_layer(host: Any, space: Workspace) -> None:
    ensure(host, space, "tag")
    ensure(host, space, "other")
    assert len(host.ran("uv", "pip", "install")) == 2
    assert set(json.loads(space.layers.read_text())) == {"tag", "other"}


def test_a_layer_whose_file_is_gone_is_written_again(host: Any, space: Workspace) -> None:
    layer = ensure(host, space, "tag")
    space.layout.file(layer.blob.digest).unlink()
    ensure(host, space, "tag")
    assert len(host.ran("uv", "pip", "install")) == 2


def test_without_uv_the_next_step_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TrainyardError, match="make setup"):
        packages.find_uv()


def test_a_python_without_pip_does_not_hide_the_index(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "SSL_CERT_FILE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    host.answer("pip", "config", "get", code=1)
    host.answer("python3", "pip", code=1)
    host.answer(
        sys.executable, "pip", "config", "get", "global.index-url", output="https://m.example/simple\n"
    )
    assert packages.index_environment(host) == {"UV_DEFAULT_INDEX": "https://m.example/simple"}


def test_the_index_of_pip_is_uvs_too(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "SSL_CERT_FILE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    host.answer("pip", "config", "get", code=1)
    host.answer("pip", "config", "get", "global.index-url", output="https://mirror.example/simple\n")
    assert packages.index_environment(host) == {"UV_DEFAULT_INDEX": "https://mirror.example/simple"}
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.example/simple")
    assert packages.index_environment(host) == {}
