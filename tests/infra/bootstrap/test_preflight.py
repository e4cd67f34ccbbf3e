"""What is said about a machine that cannot become a cluster."""

from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import packages, preflight
from infra.bootstrap.plan import Plan
from infra.errors import TrainyardError
from toolchain import tools

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

# iptables on a Debian host with Docker, as recorded in kubernetes/kubernetes#72370.
DOCKERS_FORWARD = """\
-P FORWARD DROP
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o docker0 -j DOCKER
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A FORWARD -i docker0 -o docker0 -j ACCEPT
"""
ACCEPT_OUT = "-A FORWARD -o trainyard-pods -j ACCEPT\n"


def row(address: str, port: int, state: str = "0A") -> str:
    return f"   0: {address}:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 0 0 1\n"


@pytest.fixture
def good(host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine that is ready."""
    found = tools.Finding("any", tools.State.BUILT, Path("/tools/any"))
    monkeypatch.setattr(preflight.tools, "inspect", lambda name: found)
    for package in packages.NODE:
        host.write(Path("/usr/bin") / package.program, "")
    host.write(Path("/proc/net/tcp"), HEADER)
    host.write(Path("/proc/meminfo"), f"MemTotal: {8 << 20} kB\n")
    host.write(Path("/proc/filesystems"), "nodev\toverlay\n")
    host.answer(
        "containerd", "--version", output="containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20"
    )
    host.answer("df", output=f"Avail\n{100 << 30}\n")
    return host


def test_a_ready_machine_passes(good: Any, plan: Plan) -> None:
    preflight.check(good, plan)


def test_missing_tools_are_named_before_anything_is_changed(
    good: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tools.Finding("any", tools.State.MISSING)
    monkeypatch.setattr(preflight.tools, "inspect", lambda name: missing)
    with pytest.raises(TrainyardError, match=r"missing tools \(kubeadm, .*make tools"):
        preflight.check(good, plan)


def test_all_problems_are_told_at_once(good: Any, plan: Plan) -> None:
    good.remove(Path("/usr/bin/runc"))
    for directory in ("/usr/bin", "/usr/sbin"):
        good.remove(Path(directory) / "nft")
    good.answer("df", output=f"Avail\n{1 << 30}\n")
    with pytest.raises(TrainyardError) as told:
        preflight.check(good, plan)
    assert f"{packages.install_line(['runc', 'nftables'])} (or use --install-packages)" in str(told.value)
    assert "1.0 GiB free" in str(told.value)


@pytest.mark.parametrize(
    ("table", "entry", "port"),
    [
        ("tcp", row("0100570A", 6443), 6443),
        ("tcp", row("00000000", 10250), 10250),
        ("tcp6", row("0" * 32, 2379), 2379),
        ("tcp6", row("0000000000000000FFFF00000100007F", 10248), 10248),
    ],
    ids=["node address", "every address", "every address of IPv6", "mapped loopback"],
)
def test_a_taken_port_is_named(good: Any, plan: Plan, table: str, entry: str, port: int) -> None:
    good.write(Path("/proc/net") / table, HEADER + entry)
    (problem,) = preflight.port_problems(good, plan)
    assert f"port {port} is taken" in problem


@pytest.mark.parametrize(
    "entry",
    [row("0200000A", 6443), row("0100570A", 6443, state="01"), row("0100570A", 8080)],
    ids=["another address", "a connection", "another port"],
)
def test_what_does_not_disturb_is_fine(good: Any, plan: Plan, entry: str) -> None:
    good.write(Path("/proc/net/tcp"), HEADER + entry)
    assert preflight.port_problems(good, plan) == []


def test_an_old_runtime_is_refused(good: Any, plan: Plan) -> None:
    good.answer(
        "containerd", "--version", output="containerd github.com/containerd/containerd 1.4.13~ds1 1.4.13"
    )
    (problem,) = preflight.runtime_problems(good, plan)
    assert "1.4.13" in problem


def test_little_memory_is_told(good: Any, plan: Plan) -> None:
    good.write(Path("/proc/meminfo"), f"MemTotal: {2 << 20} kB\n")
    (problem,) = preflight.memory_problems(good, plan)
    assert "2.0 GiB" in problem


def test_missing_kernel_features_are_told(good: Any, plan: Plan) -> None:
    mounts = good.read(Path("/proc/self/mountinfo")).splitlines()
    good.write(Path("/proc/self/mountinfo"), "\n".join(line for line in mounts if "memory" not in line))
    good.write(Path("/proc/filesystems"), "ext4\n")
    good.answer("modprobe", code=1)
    good.answer("nft", "list", code=1)
    problems = preflight.kernel_problems(good, plan)
    assert ["memory" in problems[0], "overlay" in problems[1], "nf_tables" in problems[2]] == [True] * 3


@pytest.mark.parametrize("program", ["iptables-nft", "iptables-legacy"])
def test_a_packet_filter_that_drops_what_is_forwarded_is_told(good: Any, plan: Plan, program: str) -> None:
    filtering(good, program, DOCKERS_FORWARD)
    (problem,) = preflight.forwarding_problems(good, plan)
    *_, cure = problem.partition("accept theirs with: ")
    assert [line.split() for line in cure.split(" && ")] == [
        [program, "--insert", "FORWARD", way, "trainyard-pods", "--jump", "ACCEPT"] for way in ("-i", "-o")
    ]
    with pytest.raises(TrainyardError, match="FORWARD"):
        preflight.check(good, plan)


@pytest.mark.parametrize(
    "rules",
    [
        "-P FORWARD ACCEPT\n",
        DOCKERS_FORWARD.replace("DROP\n", "DROP\n-A FORWARD -i trainyard-pods -j ACCEPT\n" + ACCEPT_OUT),
    ],
    ids=["accepts", "accepts the pods'"],
)
def test_a_packet_filter_that_lets_pods_through_is_fine(good: Any, plan: Plan, rules: str) -> None:
    filtering(good, "iptables-nft", rules)
    assert preflight.forwarding_problems(good, plan) == []


def test_half_a_cure_is_told_by_its_other_half(good: Any, plan: Plan) -> None:
    filtering(good, "iptables-nft", DOCKERS_FORWARD.replace("DROP\n", f"DROP\n{ACCEPT_OUT}"))
    (problem,) = preflight.forwarding_problems(good, plan)
    assert "-i trainyard-pods" in problem
    assert "-o trainyard-pods" not in problem


def test_a_packet_filter_without_rules_is_not_asked_for_it_would_make_its_table(
    good: Any, plan: Plan
) -> None:
    for program in ("iptables-nft", "iptables-legacy"):
        filtering(good, program, DOCKERS_FORWARD)
    good.write(preflight.LEGACY_TABLES, "nat\n")
    good.answer("nft", "list", "chain", code=1)
    assert preflight.forwarding_problems(good, plan) == []
    assert good.ran("--list-rules") == []


def filtering(host: Any, program: str, rules: str) -> None:
    """Let a machine have these rules in the packet filter of that program."""
    host.write(Path("/usr/sbin") / program, "")
    host.write(preflight.LEGACY_TABLES, "filter\n")
    host.answer(program, "--list-rules", "FORWARD", output=rules)


def test_controllers_of_cgroup_v2_are_read_from_its_own_file(good: Any, plan: Plan) -> None:
    good.write(Path("/proc/self/mountinfo"), "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    good.write(Path("/sys/fs/cgroup/cgroup.controllers"), "cpuset cpu io memory pids\n")
    assert preflight.kernel_problems(good, plan) == []


def test_without_root_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(TrainyardError, match="sudo"):
        preflight.require_root()


def test_free_room_is_that_of_the_nearest_directory(good: Any, plan: Plan, tmp_path: Path) -> None:
    preflight.free_bytes(good, tmp_path / "not" / "there")
    assert good.ran("df")[-1][-1] == str(tmp_path)
