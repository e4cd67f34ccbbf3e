"""Debian packages: which are missing, and how they come."""

from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import packages
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError


def test_missing_are_those_whose_program_is_not_there(host: Any) -> None:
    host.write(Path("/usr/bin/buildah"), "")
    assert packages.missing(host, packages.IMAGES) == ["debootstrap"]


@pytest.mark.parametrize("directory", ["/usr/sbin", "/usr/bin"], ids=["Debian's", "Docker's"])
def test_a_program_counts_wherever_its_package_puts_it(host: Any, directory: str) -> None:
    assert "runc" in packages.missing(host, packages.NODE)
    host.write(Path(directory) / "runc", "")
    assert "runc" not in packages.missing(host, packages.NODE)


def test_the_bridge_of_iproute2_is_no_network_plugin(host: Any) -> None:
    host.write(Path("/usr/sbin/bridge"), "")
    assert "containernetworking-plugins" in packages.missing(host, packages.NODE)


def test_what_node_and_node_checks_run_is_asked_for(host: Any) -> None:
    assert {"kmod", "openssl"} <= set(packages.missing(host, packages.NODE))


def test_installing_asks_no_questions_and_removes_nothing(host: Any) -> None:
    packages.install(host, ["runc"], progress=Progress())
    assert [command[:2] for command in host.commands] == [["apt-get", "update"], ["apt-get", "install"]]
    assert host.commands[-1][2:] == ["--yes", "--no-remove", "--no-install-recommends", "runc"]


def test_what_cannot_be_installed_is_told_with_the_command(host: Any) -> None:
    host.answer("apt-get", "install", code=100, errors="Packages need to be removed but remove is disabled.")
    with pytest.raises(TrainyardError, match="remove is disabled") as told:
        packages.install(host, ["runc"], progress=Progress())
    assert packages.install_line(["runc"]) in told.value.next_step


def test_nothing_missing_installs_nothing(host: Any) -> None:
    packages.install(host, [], progress=Progress())
    assert host.commands == []
