"""The node's bridge, and kernel settings that go back to what they were."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import network
from infra.bootstrap.plan import Plan

FORWARD = network.SYSCTL / "net/ipv4/ip_forward"


@pytest.fixture
def kernel(host: Any) -> Any:
    host.write(FORWARD, "0\n")
    host.write(network.SYSCTL / "net/bridge/bridge-nf-call-iptables", "0\n")
    return host


def test_the_bridge_gets_the_nodes_address_once(kernel: Any, plan: Plan) -> None:
    network.ensure(kernel, plan)
    assert kernel.ran("ip", "address", "add")[0][3] == "10.87.0.1/24"
    kernel.answer("ip", "-json", output=json.dumps([{"ifname": "trainyard0"}]))
    network.ensure(kernel, plan)
    assert len(kernel.ran("ip", "link", "add")) == 1


def test_forwarding_is_on_while_the_cluster_lives(kernel: Any, plan: Plan) -> None:
    network.ensure(kernel, plan)
    assert kernel.read(FORWARD) == "1"
    network.restore_sysctls(kernel, plan)
    assert kernel.read(FORWARD) == "0"


def test_a_second_start_does_not_take_its_own_settings_for_the_hosts(kernel: Any, plan: Plan) -> None:
    network.ensure(kernel, plan)
    network.ensure(kernel, plan)
    network.restore_sysctls(kernel, plan)
    assert kernel.read(FORWARD) == "0"


def test_the_bridge_module_is_loaded_where_it_is_not(host: Any, plan: Plan) -> None:
    host.write(FORWARD, "0\n")
    network.ensure(host, plan)
    assert host.ran("modprobe", "br_netfilter")


def test_pods_are_described_in_the_clusters_own_directory(kernel: Any, plan: Plan) -> None:
    network.ensure(kernel, plan)
    (path,) = kernel.entries(network.conf_dir(plan))
    assert path.is_relative_to(plan.directories.cluster)
    assert not kernel.exists(Path("/etc/cni"))


def test_settings_whose_module_is_not_loaded_after_a_reboot_are_left_out(kernel: Any, plan: Plan) -> None:
    network.ensure(kernel, plan)
    kernel.remove(network.SYSCTL / "net/bridge")
    network.restore_sysctls(kernel, plan)
    assert kernel.read(FORWARD) == "0"
    assert not kernel.exists(network.SYSCTL / "net/bridge")
    network.restore_sysctls(kernel, plan)
