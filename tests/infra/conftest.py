"""A machine that does nothing: its files lie in the test's directory, its commands are only written down."""

import os
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest

from infra.bootstrap.host import Completed, LocalHost
from infra.bootstrap.plan import Directories, Node, Plan
from infra.errors import TrainyardError

MOUNTS = """\
22 1 0:21 / /proc rw - proc proc rw
30 1 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 1 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
32 1 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 1 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
"""


class FakeHost:
    """Implements `Host`; absolute paths outside `root` are kept below `root`/host."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: list[list[str]] = []
        self.fed: list[tuple[list[str], bytes]] = []
        self.spawned: list[list[str]] = []
        self.signals: list[tuple[int, int]] = []
        self.open_ports: set[tuple[str, int]] = set()
        self.on_signal: Callable[[int, int], None] = lambda pid, number: None
        self._answers: list[tuple[tuple[str, ...], Completed]] = []
        self._local = LocalHost()

    def answer(self, *words: str, output: str = "", code: int = 0, errors: str = "") -> None:
        """Let commands that contain these words in this order answer so; later answers win."""
        self._answers.insert(0, (words, Completed(code, output, errors)))

    def run(
        self,
        args: Sequence[str | Path],
        *,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        next_step: str = "",
    ) -> Completed:
        command = [str(arg) for arg in args]
        self.commands.append(command)
        completed = next(
            (done for words, done in self._answers if _contains(command, words)), Completed(0, "", "")
        )
        if check and completed.code:
            raise TrainyardError(f"{command[0]} failed: {completed.errors}", next_step=next_step)
        return completed

    def feed(
        self, args: Sequence[str | Path], writer: Callable[[IO[bytes]], None], *, next_step: str = ""
    ) -> None:
        stream = BytesIO()
        writer(stream)
        self.fed.append(([str(arg) for arg in args], stream.getvalue()))

    def spawn(self, args: Sequence[str | Path], *, log: Path) -> int:
        self.spawned.append([str(arg) for arg in args])
        pid = 1000 + len(self.spawned)
        self.process(pid)
        return pid

    def process(self, pid: int, *, start_time: int = 77, state: str = "S") -> None:
        """Let a process exist."""
        fields = [state, *["0"] * 18, str(start_time), "0"]
        self.write(Path(f"/proc/{pid}/stat"), f"{pid} (some (name)) {' '.join(fields)}")

    def signal(self, pid: int, number: int) -> None:
        self.signals.append((pid, number))
        self.on_signal(pid, number)

    def find(self, program: str) -> Path | None:
        """Programs are the files of that name in the usual directories; an absolute path is itself."""
        places = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin"]
        return next((path for path in (Path(one, program) for one in places) if self.exists(path)), None)

    def connects(self, address: str, port: int) -> bool:
        return (address, port) in self.open_ports

    def exists(self, path: Path) -> bool:
        return self._local.exists(self.here(path))

    def is_directory(self, path: Path) -> bool:
        return self._local.is_directory(self.here(path))

    def read(self, path: Path) -> str:
        return self.here(path).read_text()

    def write(self, path: Path, text: str, *, mode: int = 0o644) -> None:
        self._local.write(self.here(path), text, mode=mode)

    def append(self, path: Path, text: str) -> None:
        """As the kernel's files have it: what is written is the new content."""
        self.write(path, text)

    def make_directory(self, path: Path, *, mode: int = 0o755, owner: int = 0) -> None:
        self.here(path).mkdir(parents=True, exist_ok=True)

    def entries(self, path: Path) -> list[Path]:
        return [path / entry.name for entry in self._local.entries(self.here(path))]

    def link_target(self, path: Path) -> Path | None:
        return self._local.link_target(self.here(path))

    def remove(self, path: Path) -> None:
        self._local.remove(self.here(path))

    def remove_empty(self, path: Path) -> None:
        self._local.remove_empty(self.here(path))

    def here(self, path: Path) -> Path:
        """Where a path of the machine really lies."""
        return path if path.is_relative_to(self.root) else self.root / "host" / os.path.relpath(path, "/")

    def ran(self, *words: str) -> list[list[str]]:
        """The commands that contain these words in this order."""
        return [command for command in self.commands if _contains(command, words)]


def _contains(command: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(command)
    return all(any(word == part or part.endswith(f"/{word}") for part in rest) for word in words)


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    fake = FakeHost(tmp_path)
    fake.write(Path("/proc/self/mountinfo"), MOUNTS)
    fake.write(Path("/proc/self/status"), "Name:\tx\nCapEff:\t000001ffffffffff\n")
    for name in ("cpu", "cpuset", "memory", "pids"):
        fake.make_directory(Path("/sys/fs/cgroup") / name)
    for program in ("/usr/bin/ip", "/usr/sbin/nft"):
        fake.write(Path(program), "")
    fake.answer("ip", "-json", output="[]")
    fake.answer("nft", "--json", output='{"nftables": []}')
    return fake


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    node = Node(name="node-a", address="10.87.0.1", interface="trainyard0")
    return Plan(node=node, directories=Directories(state=tmp_path / "state", store=tmp_path / "store"))
