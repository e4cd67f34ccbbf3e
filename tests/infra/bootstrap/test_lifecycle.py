"""The order of `up`, from each state that a machine can be in."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from infra.bootstrap import lifecycle, ownership
from infra.bootstrap.leftovers import Leftovers
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError

NOTHING = Leftovers((), (), (), (), (), (), ())
LEFT = replace(NOTHING, processes=(12,))
STEPS = (
    ("preflight", "check"),
    ("packages", "install"),
    ("network", "ensure"),
    ("runtime", "ensure"),
    ("runtime", "remove_containers"),
    ("store", "ensure_programs"),
    ("control_plane", "initialise"),
    ("control_plane", "start_kubelet"),
    ("control_plane", "finish"),
    ("control_plane", "write_kubeconfig"),
    ("health", "wait"),
    ("cleanup", "remove_cluster"),
)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps that were taken, in order; none of them does anything."""
    taken: list[str] = []
    for module, name in STEPS:
        monkeypatch.setattr(getattr(lifecycle, module), name, _noting(taken, f"{module}.{name}"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(lifecycle.health, "is_up", lambda host, plan: False)
    monkeypatch.setattr(lifecycle.system_images, "programs", lambda plan: [])
    monkeypatch.setattr(ownership, "exclusive", lambda progress: contextlib.nullcontext())
    return taken


def _noting(taken: list[str], label: str) -> Callable[..., None]:
    return lambda *args, **options: taken.append(label)


def up(host: Any, plan: Plan, **options: Any) -> str:
    said = StringIO()
    lifecycle.up(host, plan, progress=Progress(stream=said), **options)
    return said.getvalue()


def test_a_running_cluster_is_left_alone(
    host: Any, plan: Plan, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle.health, "is_up", lambda host, plan: True)
    assert "the cluster is up" in up(host, plan)
    assert steps == []


def test_from_nothing_the_kubelet_starts_between_kubeadms_steps(
    host: Any, plan: Plan, steps: list[str]
) -> None:
    up(host, plan)
    assert steps == [
        "preflight.check",
        "network.ensure",
        "runtime.ensure",
        "store.ensure_programs",
        "runtime.remove_containers",
        "control_plane.initialise",
        "control_plane.start_kubelet",
        "control_plane.finish",
        "control_plane.write_kubeconfig",
        "health.wait",
    ]
    assert ownership.owner(host, plan) == plan.directories.state


def test_after_a_reboot_only_daemons_start(host: Any, plan: Plan, steps: list[str]) -> None:
    host.write(plan.directories.initialised, "")
    up(host, plan)
    assert "control_plane.initialise" not in steps
    assert "cleanup.remove_cluster" not in steps
    assert steps[-3:] == ["control_plane.start_kubelet", "control_plane.write_kubeconfig", "health.wait"]


def test_an_unfinished_start_is_cleared_first(host: Any, plan: Plan, steps: list[str]) -> None:
    host.write(plan.directories.cluster / "kubeadm.yaml", "")
    up(host, plan)
    assert steps[0] == "cleanup.remove_cluster"
    assert "control_plane.initialise" in steps


def test_a_change_of_packages_is_made_only_when_asked(host: Any, plan: Plan, steps: list[str]) -> None:
    up(host, plan)
    assert "packages.install" not in steps
    up(host, plan, install_packages=True)
    assert "packages.install" in steps


def test_down_of_nothing_does_nothing(host: Any, plan: Plan, steps: list[str]) -> None:
    assert lifecycle.down(host, plan, progress=Progress(stream=StringIO())).empty
    assert steps == []


ON_A_FILE = OSError(30, "Read-only file system", "/sys/fs/cgroup/x")
ON_NONE = OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("cause", "told"),
    [(ON_A_FILE, "/sys/fs/cgroup/x: Read-only file system"), (ON_NONE, "Input/output error")],
    ids=["with a file", "without one"],
)
@pytest.mark.parametrize("command", ["up", "down"])
def test_what_the_system_refuses_is_told_without_a_traceback(
    host: Any,
    plan: Plan,
    steps: list[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    cause: OSError,
    told: str,
) -> None:
    def fail(*args: object) -> None:
        raise cause

    monkeypatch.setattr(lifecycle.cgroups, "ensure", fail)
    monkeypatch.setattr(lifecycle.cleanup, "remove_cluster", fail)
    monkeypatch.setattr(
        lifecycle.leftovers, "find", lambda host, plan: LEFT if command == "down" else NOTHING
    )
    with pytest.raises(TrainyardError) as error:
        getattr(lifecycle, command)(host, plan, progress=Progress(stream=StringIO()))
    assert error.value.message == told
    assert str(plan.directories.logs) in error.value.next_step
