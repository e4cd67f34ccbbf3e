"""Rendered configuration: golden files, and what must hold in them whatever they look like."""

import ipaddress
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra import versions
from infra.bootstrap import control_plane, network, runtime
from infra.bootstrap.plan import Directories, Node, Plan, embedded_plan
from infra.bootstrap.templating import render

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def fixed() -> Plan:
    directories = Directories(state=Path("/state"), store=Path("/store"))
    return Plan(
        node=Node(name="node-a", address="10.87.0.1", interface="trainyard0"), directories=directories
    )


def documents(plan: Plan) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(control_plane.configuration(plan))}


@pytest.mark.parametrize("name", ["kubeadm.yaml", "containerd.toml", "pod-network.conflist"])
def test_configuration_is_as_recorded(name: str, fixed: Plan, request: pytest.FixtureRequest) -> None:
    text = {
        "kubeadm.yaml": control_plane.configuration(fixed),
        "containerd.toml": runtime.configuration(fixed, restrict_oom_score=True),
        "pod-network.conflist": render("pod-network.conflist.j2", plan=fixed),
    }[name]
    if request.config.getoption("--update-goldens"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


def test_versions_come_from_one_file(fixed: Plan) -> None:
    cluster = documents(fixed)["ClusterConfiguration"]
    assert cluster["kubernetesVersion"] == versions.KUBERNETES
    assert cluster["dns"]["imageTag"] == versions.COREDNS
    assert cluster["etcd"]["local"]["imageTag"] == versions.ETCD
    assert f"pause:{versions.PAUSE}" in runtime.configuration(fixed, restrict_oom_score=False)


def test_the_kubelet_never_deletes_images(fixed: Plan) -> None:
    assert documents(fixed)["KubeletConfiguration"]["imageGCHighThresholdPercent"] == 100
    assert documents(fixed)["InitConfiguration"]["nodeRegistration"]["imagePullPolicy"] == "Never"


def test_nothing_listens_on_all_addresses(fixed: Plan) -> None:
    found = documents(fixed)
    assert found["KubeletConfiguration"]["address"] == fixed.node.address
    assert found["KubeProxyConfiguration"]["healthzBindAddress"].startswith(fixed.node.address)
    arguments = {one["name"]: one["value"] for one in found["ClusterConfiguration"]["apiServer"]["extraArgs"]}
    assert arguments["bind-address"] == fixed.node.address


def test_address_ranges_do_not_overlap() -> None:
    plan = embedded_plan()
    node = ipaddress.IPv4Network(f"{plan.node.address}/{plan.node.prefix_length}", strict=False)
    pods, services = (ipaddress.IPv4Network(one) for one in (plan.networks.pods, plan.networks.services))
    assert not any(a.overlaps(b) for a, b in ((node, pods), (node, services), (pods, services)))
    assert ipaddress.IPv4Network(plan.node.pod_subnet).subnet_of(pods)
    assert ipaddress.ip_address(plan.networks.dns_address) in services


def test_containerd_uses_nothing_of_the_hosts_own(fixed: Plan) -> None:
    config = tomllib.loads(runtime.configuration(fixed, restrict_oom_score=False))
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    options = cri["containerd"]["runtimes"]["runc"]["options"]
    opt = config["plugins"]["io.containerd.internal.v1.opt"]["path"]
    for path in (config["root"], config["state"], config["grpc"]["address"], options["Root"], opt):
        assert path.startswith(("/store/", "/run/trainyard"))
    assert cri["cni"]["conf_dir"] == str(network.conf_dir(fixed)) == "/state/cluster/cni"


@pytest.mark.parametrize("restricted", [True, False])
def test_oom_scores_are_restricted_only_where_they_must_be(restricted: bool, fixed: Plan) -> None:
    config = tomllib.loads(runtime.configuration(fixed, restrict_oom_score=restricted))
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["restrict_oom_score_adj"] is restricted


def test_pods_get_no_way_out_of_the_machine(fixed: Plan) -> None:
    (bridge,) = json.loads(render("pod-network.conflist.j2", plan=fixed))["plugins"]
    assert bridge["ipMasq"] is False
    assert bridge["bridge"] == fixed.networks.pod_bridge
