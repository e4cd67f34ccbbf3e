"""The machine's own tools are used where their version will do; what is missing names the next command."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from infra import versions
from infra.errors import TrainyardError
from tests.toolchain.conftest import script
from toolchain import layout, pins, plugins, probe, tools

Fake = Callable[[str, str], Path]


def built(module_name: str, tool: str) -> Path:
    return script(layout.home(pins.module(module_name)) / "bin" / tool, "exit 0")


def test_a_missing_tool_names_the_command_that_builds_it(bare_machine: Path) -> None:
    with pytest.raises(TrainyardError, match="pulumi is missing") as failure:
        tools.find("pulumi")
    assert "make tools" in failure.value.next_step


@pytest.mark.parametrize(
    ("tool", "printed", "usable"),
    [
        ("pulumi", "v3.200.0", True),
        ("pulumi", "v3.199.1", False),
        ("pulumi", "v4.0.0", False),
        ("kubectl", '{"clientVersion": {"gitVersion": "v1.33.0"}}', True),
        ("kubectl", '{"clientVersion": {"gitVersion": "v1.35.2-dispatcher"}}', True),
        ("kubectl", '{"clientVersion": {"gitVersion": "v1.32.4"}}', False),
        ("kubelet", f"Kubernetes {versions.KUBERNETES}", True),
        ("kubelet", "Kubernetes v1.34.5", False),
        ("kubeadm", versions.KUBERNETES, True),
        ("etcd", f"etcd Version: {versions.ETCD.removeprefix('v')}", True),
        ("coredns", "CoreDNS-1.14.9", False),
        ("coredns", "no number", False),
    ],
)
def test_the_version_decides(fake: Fake, tool: str, printed: str, usable: bool) -> None:
    path = fake(tool, printed)
    finding = tools.inspect(tool)
    assert finding.path == (path if usable else None)
    assert (str(path) in finding.rejected) is not usable


def test_a_tool_that_fails_is_not_usable(bare_machine: Path) -> None:
    script(bare_machine / "pulumi", "echo v3.250.0; exit 1")
    assert tools.inspect("pulumi").state is tools.State.MISSING


def test_a_rejected_tool_gives_way_to_a_later_one_on_path(
    fake: Fake, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("pulumi", "v3.1.0")
    newer = script(places / "later" / "pulumi", "echo v3.280.0")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{newer.parent}")
    assert tools.find("pulumi") == newer


def test_a_built_tool_is_used_where_the_machine_has_no_usable_one(fake: Fake) -> None:
    fake("kubectl", '{"gitVersion": "v1.20.0"}')
    path = built("kubernetes", "kubectl")
    assert tools.find("kubectl") == path
    assert tools.inspect("kubectl").version == versions.KUBERNETES


def test_a_controller_is_never_taken_from_path(fake: Fake) -> None:
    fake("kueue", versions.KUEUE)
    assert tools.inspect("kueue").state is tools.State.MISSING


def test_the_provider_in_pulumis_plugin_directory_is_used(bare_machine: Path) -> None:
    script(plugins.directory() / "resource-kubernetes-v3.9.9" / plugins.PROVIDER, "")
    assert tools.inspect("pulumi-resource-kubernetes").state is tools.State.MISSING
    theirs = script(plugins.directory() / "resource-kubernetes-v4.20.0" / plugins.PROVIDER, "")
    assert tools.find("pulumi-resource-kubernetes") == theirs


def test_the_built_provider_is_linked_once_into_the_plugin_directory(bare_machine: Path) -> None:
    assert plugins.register() is None
    path = built("pulumi-kubernetes", plugins.PROVIDER)
    link = plugins.register()
    assert link is not None
    assert link.resolve() == path
    assert plugins.register() == link
    assert tools.inspect(plugins.PROVIDER).state is tools.State.BUILT


def test_an_installed_provider_of_that_version_is_left_alone(bare_machine: Path) -> None:
    built("pulumi-kubernetes", plugins.PROVIDER)
    directory = plugins.directory() / f"resource-kubernetes-{versions.PULUMI_KUBERNETES}"
    theirs = script(directory / plugins.PROVIDER, "")
    plugins.register()
    assert not theirs.is_symlink()


def test_a_provider_on_path_is_asked_for_its_version(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(plugins.PROVIDER, "")
    monkeypatch.setattr(probe, "provider_version", {path: "4.18.0"}.__getitem__)
    assert tools.find(plugins.PROVIDER) == path


def test_a_provider_that_serves_nothing_has_no_version(fake: Fake) -> None:
    assert probe.provider_version(fake(plugins.PROVIDER, "not a port")) == ""


def test_path_gets_only_what_is_built_and_called_by_people(fake: Fake) -> None:
    fake("etcd", f"etcd Version: {versions.ETCD.removeprefix('v')}")
    built("etcd", "etcd")
    kubectl, pulumi = built("kubernetes", "kubectl"), built("pulumi", "pulumi")
    built("kueue", "kueue")
    built("pulumi-kubernetes", plugins.PROVIDER)
    assert tools.path_entries() == [pulumi.parent, kubectl.parent]


def test_a_built_tool_stays_one_when_its_directory_is_on_path(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script(built("kubernetes", "kubectl"), f"echo {versions.KUBERNETES}")
    monkeypatch.setenv("PATH", str(path.parent))
    assert tools.inspect("kubectl").state is tools.State.BUILT
    assert tools.path_entries() == [path.parent]


def test_the_machines_own_pulumi_without_a_language_host_gets_ours(fake: Fake) -> None:
    fake("pulumi", "v3.250.0")
    assert tools.path_entries() == [tools.LANGUAGE_HOST_DIRECTORY]


@pytest.mark.parametrize("place", ["on path", "beside pulumi"])
def test_the_official_language_host_is_preferred(
    fake: Fake, places: Path, bare_machine: Path, place: str
) -> None:
    if place == "on path":
        fake("pulumi", "v3.250.0")
        official = fake(tools.LANGUAGE_HOST, "")
    else:
        script(places / "opt" / "pulumi", "echo v3.250.0")
        (bare_machine / "pulumi").symlink_to(places / "opt" / "pulumi")
        official = script(places / "opt" / tools.LANGUAGE_HOST, "")
    assert tools.official_language_host() == official
    assert tools.path_entries() == []


def test_our_own_language_host_is_not_taken_for_the_official(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = built("pulumi", "pulumi").parent
    script(beside / tools.LANGUAGE_HOST, "")
    monkeypatch.setenv("PATH", f"{tools.LANGUAGE_HOST_DIRECTORY}:{beside}")
    assert tools.official_language_host() is None


def test_a_missing_chart_names_the_command(bare_machine: Path) -> None:
    with pytest.raises(TrainyardError, match="the chart of kueue is missing"):
        tools.chart("kueue")
