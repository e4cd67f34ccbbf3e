"""What is pinned for building is what the rest of the project expects."""

import re

import pytest

from infra import versions
from toolchain import pins

PINNED = {
    ("pulumi", "github.com/pulumi/pulumi/pkg/v3"): versions.PULUMI,
    ("kubernetes", "k8s.io/kubernetes"): versions.KUBERNETES,
    ("etcd", "go.etcd.io/etcd/server/v3"): versions.ETCD,
    ("coredns", "github.com/coredns/coredns"): versions.COREDNS,
    ("kueue", "sigs.k8s.io/kueue"): versions.KUEUE,
    ("jobset", "sigs.k8s.io/jobset"): versions.JOBSET,
}


@pytest.mark.parametrize(("module", "path"), PINNED)
def test_go_mod_pins_the_version(module: str, path: str) -> None:
    text = (pins.module(module).directory / "go.mod").read_text()
    assert re.findall(rf"^(?:require )?\s*{re.escape(path)} (\S+)$", text, re.MULTILINE) == [
        PINNED[module, path]
    ]


def test_kubernetes_libraries_have_the_version_of_kubernetes() -> None:
    text = (pins.module("kubernetes").directory / "go.mod").read_text()
    replaced = set(re.findall(r"=> k8s\.io/\S+ (\S+)$", text, re.MULTILINE))
    assert replaced == {versions.KUBERNETES.replace("v1.", "v0.", 1)}


@pytest.mark.parametrize("module", pins.MODULES, ids=lambda module: module.name)
def test_a_build_needs_no_change_of_the_checkout(module: pins.Module) -> None:
    assert (module.directory / "go.sum").is_file()
    assert "-mod=readonly" in pins.BUILD_FLAGS
    assert not list(module.directory.glob("*.json"))


def test_the_linker_gets_the_versions() -> None:
    flags = pins.module("kubernetes").linker_flags
    assert f"-X k8s.io/component-base/version.gitVersion={versions.KUBERNETES}" in flags
    assert "-X k8s.io/component-base/version.gitMinor=34" in flags


def test_a_tool_and_its_module_are_the_same_build() -> None:
    assert pins.module("kubelet") is pins.module("kubernetes")
