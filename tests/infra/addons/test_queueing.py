"""An embedded cluster gets the controllers that were built for it, any other one the official ones."""

from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import runtime
from pulumi.runtime import mocks

from infra.addons import charts, queueing
from infra.settings.places import LocalSite, Quota, Team
from infra.sites.local import place

TEAM = Team(name="research", quota=Quota(cpu="2", memory="8Gi"))
BUILT = Path("/built")


class Recorder(mocks.Mocks):
    """Remembers the inputs of each resource by its type."""

    def __init__(self) -> None:
        self.inputs: dict[str, list[dict[str, Any]]] = {}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.inputs.setdefault(args.typ, []).append(dict(args.inputs))
        return f"{args.name}-id", dict(args.inputs)

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        return {}


def charts_of(recorder: Recorder, *, embedded: bool) -> dict[str, dict[str, Any]]:
    runtime.set_mocks(recorder)

    @runtime.test
    def declare() -> pulumi.Output[None]:
        queueing.Queueing("queueing", queueing.QueueingArgs([TEAM], Path("/kubeconfig"), embedded=embedded))
        return pulumi.Output.from_input(None)

    declare()
    return {chart["namespace"]: chart for chart in recorder.inputs["kubernetes:helm.sh/v4:Chart"]}


def test_an_embedded_cluster_gets_built_charts_and_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts.tools, "chart", lambda name: BUILT / name)
    found = charts_of(Recorder(), embedded=True)
    kueue, jobset = found["kueue-system"], found["jobset-system"]
    assert (kueue["chart"], jobset["chart"]) == ("/built/kueue", "/built/jobset")
    manager = kueue["values"]["controllerManager"]["manager"]
    assert manager["image"]["repository"] == "localhost/trainyard/kueue"
    assert manager["resources"] == charts.CONTROLLER_RESOURCES
    assert jobset["values"]["image"]["repository"] == "localhost/trainyard/jobset"


def test_a_cluster_that_exists_needs_nothing_built() -> None:
    found = charts_of(Recorder(), embedded=False)
    kueue = found["kueue-system"]
    assert kueue["chart"] == "oci://registry.k8s.io/kueue/charts/kueue"
    assert kueue["version"] == "0.17.0"
    assert "image" not in kueue["values"]["controllerManager"]["manager"]
    assert found["jobset-system"]["chart"] == "oci://registry.k8s.io/jobset/charts/jobset"


def test_the_sites_kubeconfig_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("TRAINYARD_STATE", "/state")
    site = LocalSite.model_validate({"kind": "local", "name": "a", "pools": [{"name": "w"}]})
    assert place.kubeconfig(site) == Path("/state/cluster/admin.kubeconfig")
    named = site.model_copy(update={"kubeconfig": "~/.kube/config"})
    assert place.kubeconfig(named) == Path("/home/me/.kube/config")
