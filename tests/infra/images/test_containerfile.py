"""Containerfiles that need no container."""

import pytest

from infra.errors import InvalidInput
from infra.images.containerfile import Copy, parse
from infra.paths import REPOSITORY

TEXT = """
# a comment
ARG BASE
FROM ${BASE}
ENV A=1 \\
    B="two words"
COPY packages /opt/packages
COPY trainer /opt/code
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "trainer"]
"""


def test_each_copy_is_a_layer_in_order() -> None:
    assert parse(TEXT).copies == [Copy("packages", "/opt/packages"), Copy("trainer", "/opt/code")]


def test_the_rest_changes_the_configuration_of_the_base() -> None:
    config = parse(TEXT).config({"Env": ["PATH=/bin", "A=0"], "Cmd": ["python3"], "User": "root"})
    assert config == {
        "Env": ["PATH=/bin", "A=1", "B=two words"],
        "Cmd": ["python3"],
        "User": "10001:10001",
        "WorkingDir": "/tmp",
        "Entrypoint": ["python", "-m", "trainer"],
    }


@pytest.mark.parametrize("instruction", ["RUN true", "ADD a /b", "SHELL x"])
def test_what_needs_a_container_is_refused(instruction: str) -> None:
    with pytest.raises(InvalidInput, match=instruction.split()[0]):
        parse(f"FROM x\n{instruction}\n")


def test_the_trainers_own_file_is_unprivileged_and_has_its_code_last() -> None:
    recipe = parse((REPOSITORY / "images/trainer/Containerfile").read_text())
    assert [copy.source for copy in recipe.copies] == ["packages", "trainer"]
    assert recipe.settings["User"] == "10001:10001"
    assert recipe.settings["Entrypoint"] == ["python", "-m", "trainer"]
    search = recipe.environment["PYTHONPATH"].split(":")
    assert recipe.copies[0].target in search
    assert recipe.copies[1].target.rpartition("/")[0] in search
