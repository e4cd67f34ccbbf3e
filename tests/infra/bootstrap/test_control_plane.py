"""kubeadm in two steps, and the kubelet between them."""

from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import control_plane
from infra.bootstrap.plan import Plan

PHASES = {
    "certs",
    "kubeconfig",
    "etcd",
    "control-plane",
    "kubelet-start",
    "upload-config",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
    "wait-control-plane",
}


@pytest.fixture(autouse=True)
def fake_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane.tools, "find", lambda name: Path("/tools") / name)


def skipped(command: list[str]) -> set[str]:
    (option,) = (word for word in command if word.startswith("--skip-phases="))
    return set(option.partition("=")[2].split(","))


def test_every_phase_runs_in_exactly_one_step(host: Any, plan: Plan) -> None:
    control_plane.initialise(host, plan)
    control_plane.finish(host, plan)
    first, second = (PHASES - skipped(command) for command in host.ran("kubeadm", "init"))
    assert first | second == PHASES
    assert not first & second
    assert {"kubelet-start", "certs"} <= first
    assert {"addon", "wait-control-plane"} <= second


def test_the_end_of_the_second_step_is_remembered(host: Any, plan: Plan) -> None:
    control_plane.initialise(host, plan)
    assert not host.exists(plan.directories.initialised)
    control_plane.finish(host, plan)
    assert host.exists(plan.directories.initialised)


def test_a_failed_second_step_is_not_remembered(host: Any, plan: Plan) -> None:
    host.answer("kubeadm", "init", code=1, errors="timed out")
    with pytest.raises(Exception, match="timed out"):
        control_plane.finish(host, plan)
    assert not host.exists(plan.directories.initialised)


def test_the_kubelet_gets_kubeadms_flags(host: Any, plan: Plan) -> None:
    flags = 'KUBELET_KUBEADM_ARGS="--node-ip=10.87.0.1 --hostname-override=node-a"\n'
    host.write(plan.directories.kubelet / "kubeadm-flags.env", flags)
    control_plane.start_kubelet(host, plan)
    (command,) = host.spawned
    assert command[0] == "/tools/kubelet"
    assert {"--node-ip=10.87.0.1", "--hostname-override=node-a"} <= set(command)


@pytest.mark.parametrize(("text", "flags"), [("", []), ('KUBELET_KUBEADM_ARGS=""', []), ("OTHER=1", [])])
def test_no_flags(text: str, flags: list[str]) -> None:
    assert control_plane.parse_flags(text) == flags


def test_the_kubeconfig_is_for_the_administrator_only(host: Any, plan: Plan) -> None:
    host.write(plan.directories.kubernetes / "admin.conf", "apiVersion: v1\n")
    control_plane.write_kubeconfig(host, plan)
    assert host.here(plan.directories.kubeconfig).stat().st_mode & 0o777 == 0o600
