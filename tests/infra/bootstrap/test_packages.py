"""Debian packages: which are missing, and how they come."""

from typing import Any

from infra.bootstrap import packages
from infra.bootstrap.progress import Progress


def test_missing_are_those_whose_program_is_not_there(host: Any) -> None:
    host.write(packages.IMAGES["buildah"], "")
    assert packages.missing(host, packages.IMAGES) == ["debootstrap"]


def test_installing_asks_no_questions(host: Any) -> None:
    packages.install(host, ["runc"], progress=Progress())
    assert [command[:2] for command in host.commands] == [["apt-get", "update"], ["apt-get", "install"]]
    assert host.commands[-1][2:] == ["--yes", "--no-install-recommends", "runc"]


def test_nothing_missing_installs_nothing(host: Any) -> None:
    packages.install(host, [], progress=Progress())
    assert host.commands == []
