"""Tags from content: equal content, equal name; changed content, another name."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.images import tags
from infra.paths import REPOSITORY

PINNED = "docker.io/library/python@sha256:" + "a" * 64


def test_equal_content_has_equal_tags_wherever_it_lies(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    shutil.copytree(checkout, other)
    assert tags.trainer_tag(checkout=checkout) == tags.trainer_tag(checkout=other)


@pytest.mark.parametrize(
    "name",
    [
        "trainer/data/order.py",
        "locks/trainer.txt",
        "images/base/Containerfile",
        "images/trainer/Containerfile",
    ],
)
def test_every_ingredient_counts(checkout: Path, name: str) -> None:
    before = tags.trainer_tag(checkout=checkout)
    (checkout / name).write_text("changed\n")
    assert tags.trainer_tag(checkout=checkout) != before


def test_a_file_that_moves_counts(checkout: Path) -> None:
    before = tags.trainer_tag(checkout=checkout)
    (checkout / "trainer/data/order.py").rename(checkout / "trainer/order.py")
    assert tags.trainer_tag(checkout=checkout) != before


def test_another_base_counts(checkout: Path) -> None:
    assert tags.trainer_tag(checkout=checkout, base=PINNED) != tags.trainer_tag(checkout=checkout)


def test_code_does_not_rename_the_layer_of_dependencies(checkout: Path) -> None:
    before = tags.packages_tag(checkout=checkout)
    (checkout / "trainer/data/order.py").write_text("ORDER = 2\n")
    assert tags.packages_tag(checkout=checkout) == before


def test_what_python_leaves_behind_does_not_count(checkout: Path) -> None:
    before = tags.trainer_tag(checkout=checkout)
    cached = checkout / "trainer/__pycache__/order.cpython-311.pyc"
    cached.parent.mkdir()
    cached.write_bytes(b"\0")
    (checkout / "README.md").write_text("unrelated\n")
    assert tags.trainer_tag(checkout=checkout) == before


def test_references_have_the_local_prefix_and_a_short_tag() -> None:
    name, _, tag = tags.trainer_image().rpartition(":")
    assert name == "localhost/trainyard/trainer"
    assert tag == tags.trainer_tag()
    assert len(tag) == 12


def test_names_are_found_without_pulumi_torch_or_a_cluster() -> None:
    code = (
        "import sys; from infra.images.tags import trainer_image; trainer_image();"
        "sys.exit(sorted({'pulumi', 'torch', 'kubernetes', 'subprocess'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
