"""`trainyard cluster`: what it prints and how it ends."""

import pytest
from typer.testing import CliRunner

from infra.bootstrap.health import Part
from infra.bootstrap.leftovers import Leftovers
from infra.cli import cluster
from infra.errors import TrainyardError

NOTHING = Leftovers((), (), (), (), (), (), ())


@pytest.mark.parametrize(("healthy", "code"), [(True, 0), (False, 1)])
def test_status_says_each_part_and_fails_when_one_is_down(
    healthy: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [Part("containerd", True, "process 1"), Part("kubelet", healthy, "here is why")]
    monkeypatch.setattr(cluster.health, "parts", lambda host, plan: parts)
    done = CliRunner().invoke(cluster.app, ["status"])
    assert done.exit_code == code
    assert "here is why" in done.output


def test_down_ends_with_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.lifecycle, "down", lambda host, plan, progress: NOTHING)
    done = CliRunner().invoke(cluster.app, ["down"])
    assert done.exit_code == 0
    assert "0 processes, 0 mounts, 0 namespaces" in done.output


def test_down_fails_when_something_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Leftovers((12,), (), (), (), (), (), ())
    monkeypatch.setattr(cluster.lifecycle, "down", lambda host, plan, progress: left)
    done = CliRunner().invoke(cluster.app, ["down"])
    assert isinstance(done.exception, TrainyardError)
    assert "1 processes" in done.output


def test_up_passes_the_wish_to_install_packages_on(monkeypatch: pytest.MonkeyPatch) -> None:
    wishes: list[bool] = []
    monkeypatch.setattr(
        cluster.lifecycle,
        "up",
        lambda host, plan, progress, install_packages: wishes.append(install_packages),
    )
    CliRunner().invoke(cluster.app, ["up"])
    CliRunner().invoke(cluster.app, ["up", "--install-packages"])
    assert wishes == [False, True]
