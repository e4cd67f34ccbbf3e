import socket
from pathlib import Path
from typing import Any

import pytest

from trainer import config as configs
from trainer import machine, topology
from trainer.errors import ConfigError, HandshakeTimeout
from trainer.topology import Topology, wait_for_address

POD = {
    "NNODES": "2",
    "NODE_RANK": "1",
    "NPROC_PER_NODE": "8",
    "MASTER_ADDR": "run-worker-0.run",
    "MASTER_PORT": "29500",
}


def test_the_variables_of_a_pod_are_read() -> None:
    assert Topology.from_environment(POD) == Topology(2, 1, 8, "run-worker-0.run", 29500)
    assert Topology.from_environment(POD).world_size == 16
    assert Topology.from_environment({}) == Topology()


@pytest.mark.parametrize(
    ("name", "value"),
    [("NNODES", "two"), ("NNODES", "0"), ("NODE_RANK", "-1"), ("NODE_RANK", "2"), ("NPROC_PER_NODE", "")],
)
def test_impossible_variables_are_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        Topology.from_environment({**POD, name: value})


def test_the_layout_must_fit_the_processes(document: dict[str, Any]) -> None:
    config = configs.parse(document)
    Topology(num_nodes=2).require_world_size(config)
    with pytest.raises(ConfigError, match=r"2 x 1 x 1 = 2, but NNODES x NPROC_PER_NODE is 3 x 1 = 3"):
        Topology(num_nodes=3).require_world_size(config)


def test_a_name_that_appears_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [socket.gaierror(-2, "Name or service not known")] * 2

    def resolve(name: str, port: None, **options: Any) -> list[Any]:
        if answers:
            raise answers.pop()
        return [(None, None, None, "", ("10.0.0.7", 0))]

    lines: list[str] = []
    monkeypatch.setattr(topology, "RESOLVE_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert wait_for_address("run-worker-0", timeout_seconds=60, report=lines.append) == "10.0.0.7"
    assert lines == ["waiting for the name run-worker-0"]


def test_a_name_that_never_appears_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(name: str, port: None, **options: Any) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(topology, "RESOLVE_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(HandshakeTimeout, match="run-worker-0 did not resolve within 0 s"):
        wait_for_address("run-worker-0", timeout_seconds=0, report=lambda line: None)


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "100000 100000"}, 1),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, 2),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ({"cpu/cpu.cfs_quota_us": "900000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ({}, 2),
    ],
)
def test_the_quota_of_the_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cpus: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content + "\n")
    assert machine.available_cpus(tmp_path) == cpus


def test_the_memory_limit_of_the_container_counts(tmp_path: Path) -> None:
    whole = machine.memory_limit_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.memory_limit_bytes(tmp_path) == whole
    (tmp_path / "memory.max").write_text("1048576\n")
    assert machine.memory_limit_bytes(tmp_path) == 1_048_576
