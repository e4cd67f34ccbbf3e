"""Inputs of a build."""

from pathlib import Path
from typing import Any

import pytest

from infra.errors import InvalidInput
from infra.images import workspace
from infra.images.workspace import Workspace

DIGEST = "sha256:" + "0f" * 32


@pytest.mark.parametrize("base", ["", f"docker.io/library/python@{DIGEST}", f"python:3.11@{DIGEST}"])
def test_no_base_or_one_by_digest_is_fine(base: str) -> None:
    workspace.check_pinned(base)


@pytest.mark.parametrize(
    "base", ["python:3.11", "python@sha256:abc", f"python @{DIGEST}", f"python@{DIGEST}0", DIGEST]
)
def test_anything_else_is_refused(base: str) -> None:
    with pytest.raises(InvalidInput, match="digest"):
        workspace.check_pinned(base)


def test_the_container_goes_even_when_its_command_fails(host: Any, tmp_path: Path) -> None:
    host.answer("buildah", "from", output="base-working-container\n")
    host.answer("buildah", "run", code=1, errors="no space left")
    space = Workspace(tmp_path / "images")
    with pytest.raises(Exception, match="no space left"):
        workspace.run_in_base(host, space, image="base:1", volume=tmp_path, command=["true"])
    assert host.ran("buildah", "rm", "base-working-container")


def test_bytecode_does_not_depend_on_times(host: Any, tmp_path: Path) -> None:
    host.answer("buildah", "from", output="c\n")
    workspace.compile_python(host, Workspace(tmp_path), image="base:1", directory=tmp_path)
    (command,) = host.ran("buildah", "run")
    assert "unchecked-hash" in command
    assert command[: command.index("--")][-3:] == ["--volume", f"{tmp_path}:/work", "c"]
