"""Which parts of a cluster work."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import health
from infra.bootstrap.plan import Plan

OBJECTS = [
    {
        "kind": "Node",
        "metadata": {"name": "node-a"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    },
    {"kind": "DaemonSet", "metadata": {"name": "kube-proxy"}, "status": {"numberReady": 1}},
    {"kind": "Deployment", "metadata": {"name": "coredns"}, "status": {"readyReplicas": 1}},
]


@pytest.fixture
def healthy(host: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(health.tools, "find", lambda name: Path("/tools") / name)
    for number, name in enumerate(("containerd", "kubelet"), start=10):
        host.process(number)
        host.write(plan.directories.run / f"{name}.pid", f"{number} 77\n")
    host.write(plan.directories.kubeconfig, "")
    host.write(plan.directories.initialised, "")
    host.answer("kubectl", "get", output=json.dumps({"items": OBJECTS}))
    host.answer("nft", "--json", output='{"nftables": [{"table": {"family": "ip", "name": "kube-proxy"}}]}')
    host.open_ports.add((plan.networks.dns_address, 53))
    return host


def broken(host: Any, plan: Plan) -> list[str]:
    return [part.name for part in health.parts(host, plan) if not part.healthy]


def test_a_whole_cluster_is_up(healthy: Any, plan: Plan) -> None:
    assert broken(healthy, plan) == []
    assert health.is_up(healthy, plan)


def test_a_dead_daemon_is_told(healthy: Any, plan: Plan) -> None:
    healthy.remove(Path("/proc/11"))
    assert broken(healthy, plan) == ["kubelet"]


@pytest.mark.parametrize("index", range(3), ids=["node", "proxy", "dns"])
def test_what_the_api_server_does_not_have_is_told(healthy: Any, plan: Plan, index: int) -> None:
    rest = OBJECTS[:index] + OBJECTS[index + 1 :]
    healthy.answer("kubectl", "get", output=json.dumps({"items": rest}))
    assert len(broken(healthy, plan)) == 1


def test_old_news_of_the_api_server_are_not_believed(healthy: Any, plan: Plan) -> None:
    healthy.open_ports.clear()
    assert broken(healthy, plan) == ["service routing"]


def test_tables_that_cannot_be_listed_are_told_beside_the_rest(healthy: Any, plan: Plan) -> None:
    healthy.answer("nft", "--json", code=1, errors="Operation not permitted")
    (part,) = [one for one in health.parts(healthy, plan) if not one.healthy]
    assert (part.name, "Operation not permitted" in part.detail) == ("service routing", True)


def test_a_silent_api_server_is_told(healthy: Any, plan: Plan) -> None:
    healthy.answer("kubectl", "get", code=1, errors="connection refused")
    assert broken(healthy, plan) == ["API server"]


def test_no_cluster_asks_nobody(host: Any, plan: Plan) -> None:
    assert broken(host, plan) == ["containerd", "kubelet", "API server"]
    assert host.commands == []


def test_waiting_ends_with_what_is_broken(healthy: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "READY_SECONDS", 0.0)
    healthy.remove(Path("/proc/10"))
    with pytest.raises(Exception, match=r"containerd \(not running\)"):
        health.wait(healthy, plan)
