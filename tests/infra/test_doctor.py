"""`trainyard doctor`: what it finds, what it says to do, and its exit code."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from infra import versions
from infra.bootstrap import host, packages
from infra.cli import doctor
from toolchain import layout, pins, probe

PRINTED = {
    "containerd": "containerd github.com/containerd/containerd 1.6.20~ds1",
    "runc": "runc version 1.1.5",
    "buildah": "buildah version 1.28.2",
    "debootstrap": "debootstrap 1.0.128",
    "nft": "nftables v1.0.6",
    "ip": "ip utility, iproute2-6.1.0",
    "mount": "mount from util-linux 2.38.1",
    "modprobe": "kmod version 30",
    "openssl": "OpenSSL 3.0.15",
}
Run = Callable[..., Any]


@pytest.fixture
def binaries(places: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory that programs are looked for in."""
    monkeypatch.setenv("PATH", str(places / "bin"))
    monkeypatch.setenv("HOME", str(places / "home"))
    monkeypatch.setenv("PULUMI_HOME", str(places / "pulumi-home"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(host, "SYSTEM_DIRECTORIES", ())
    plugins = {"containernetworking-plugins": str(places / "cni" / "bridge")}
    moved = [replace(one, program=plugins.get(one.name, one.program)) for one in doctor.PACKAGES]
    monkeypatch.setattr(doctor, "PACKAGES", tuple(moved))
    probe.version_text.cache_clear()
    return places / "bin"


@pytest.fixture
def run(binaries: Path) -> Run:
    """Runs the command."""
    app = typer.Typer()
    doctor.register(app)
    return lambda *arguments: CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"})


def executable(path: Path, prints: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)
    return path


def everything(places: Path) -> None:
    """All packages installed and all tools built."""
    for name, prints in PRINTED.items():
        executable(places / "bin" / name, prints)
    executable(places / "cni" / "bridge")
    for module in pins.MODULES:
        for tool in module.tools:
            executable(layout.home(module) / "bin" / tool.name)


def states(run: Run) -> dict[str, str]:
    answer = json.loads(run("--json").stdout)
    return {check["name"]: check["state"] for check in answer["checks"]}


def test_a_bare_machine_is_told_two_commands(run: Run) -> None:
    result = run("--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not answer["ready"]
    wanted = [package.name for package in (*packages.NODE, *packages.IMAGES)]
    assert answer["next"] == [packages.install_line(wanted), "make tools"]


def test_a_whole_machine_is_ready(run: Run, places: Path) -> None:
    everything(places)
    result = run()
    assert result.exit_code == 0, result.stdout
    assert "Everything for the local stack is here." in result.stdout


@pytest.mark.parametrize("missing", ["bin/nft", "cni/bridge", "bin/containerd", "bin/modprobe"])
def test_one_missing_package_is_enough_to_fail(run: Run, places: Path, missing: str) -> None:
    everything(places)
    (places / missing).unlink()
    result = run("--json")
    assert result.exit_code == 1
    step = json.loads(result.stdout)["next"]
    assert len(step) == 1
    assert step[0].startswith("apt-get install --yes --no-remove ")


def test_one_missing_tool_is_enough_to_fail(run: Run, places: Path) -> None:
    everything(places)
    (layout.home(pins.module("kubeadm")) / "bin" / "kubeadm").unlink()
    result = run()
    assert result.exit_code == 1
    assert "make tools" in result.stdout


def test_an_old_containerd_is_named(run: Run, places: Path) -> None:
    everything(places)
    executable(places / "bin" / "containerd", "containerd 1.4.13")
    assert states(run)["containerd"] == "too old"
    assert versions.CONTAINERD_MINIMUM in run().stdout


def test_a_tool_on_path_is_found_with_version_and_path(run: Run, binaries: Path) -> None:
    path = executable(binaries / "pulumi", "v3.250.1")
    checks = {check["name"]: check for check in json.loads(run("--json").stdout)["checks"]}
    assert checks["pulumi"]["state"] == "found"
    assert checks["pulumi"]["version"] == "v3.250.1"
    assert checks["pulumi"]["path"] == str(path)


def test_what_a_machine_says_is_shown_as_it_is(
    run: Run, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = executable(places / "a[b]" / "[data]" / "pulumi", "v3.250.1")
    monkeypatch.setenv("PATH", str(odd.parent))
    assert "a[b]/[data]/pulumi" in "".join(run().stdout.split())
    executable(odd.parent / "kubectl", "v1.20.0")
    assert "a[b]/[data]/kubectlisv1.20.0" in "".join(run().stdout.split())


def test_a_tool_on_path_that_will_not_do_is_explained(run: Run, binaries: Path) -> None:
    executable(binaries / "kubectl", '{"gitVersion": "v1.20.0"}')
    checks = {check["name"]: check for check in json.loads(run("--json").stdout)["checks"]}
    assert checks["kubectl"]["state"] == "missing"
    assert "v1.20.0" in checks["kubectl"]["note"]


def test_a_newcomer_with_pulumi_and_a_kubeconfig_is_told_that_nothing_is_built(
    run: Run, binaries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "needs only Pulumi" in run().stdout
    executable(binaries / "pulumi", "v3.250.1")
    monkeypatch.setenv("KUBECONFIG", "/their/kubeconfig")
    assert "needs nothing to be built" in run().stdout


def test_go_matters_only_while_something_is_to_be_built(run: Run, places: Path, binaries: Path) -> None:
    assert states(run)["go"] == "on demand"
    executable(binaries / "go", "go version go1.27.1 linux/amd64")
    assert states(run)["go"] == "found"
    everything(places)
    assert states(run)["go"] == "not needed"
