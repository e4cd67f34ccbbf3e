"""The local machine: commands, input, files."""

import os
import signal
import stat
import sys
from pathlib import Path
from typing import IO

import pytest

from infra.bootstrap import host as hosts
from infra.bootstrap.host import LocalHost
from infra.bootstrap.libraries import needed_by, parse
from infra.errors import TrainyardError

HOST = LocalHost()


def test_a_failure_carries_the_tools_own_words() -> None:
    with pytest.raises(TrainyardError) as told:
        HOST.run([sys.executable, "-c", "import sys; print('the reason', file=sys.stderr); sys.exit(3)"])
    assert "exit code 3" in str(told.value)
    assert "the reason" in str(told.value)
    assert "run the command again" in told.value.next_step


def test_a_failure_carries_the_next_step_of_its_caller() -> None:
    fail = [sys.executable, "-c", "raise SystemExit(1)"]
    with pytest.raises(TrainyardError) as run:
        HOST.run(fail, next_step="read the log")
    with pytest.raises(TrainyardError) as fed:
        HOST.feed(fail, lambda stream: None, next_step="read the log")
    assert run.value.next_step == fed.value.next_step == "read the log"


def test_a_missing_tool_is_a_failure_like_any_other() -> None:
    assert HOST.run(["no-such-tool"], check=False).code == 127
    with pytest.raises(TrainyardError, match="no-such-tool: No such file"):
        HOST.run(["no-such-tool"])


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def wait(pid: int) -> None:
    """Return when the process has ended."""
    while Path(f"/proc/{pid}").exists():
        HOST.signal(pid, 0)


@pytest.fixture
def plain_su(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system directory that PATH does not have, as for root after a plain `su`."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(hosts, "SYSTEM_DIRECTORIES", (str(tmp_path / "sbin"),))
    return tmp_path / "sbin"


def test_administrators_programs_run_without_them_on_path(plain_su: Path, tmp_path: Path) -> None:
    path = program(plain_su / "only-root-uses-it", f"cat > {tmp_path}/fed; echo there")
    assert HOST.find("only-root-uses-it") == path
    assert HOST.run(["only-root-uses-it"], env={"OTHER": "x"}).output == "there\n"
    HOST.feed(["only-root-uses-it"], lambda stream: stream.write(b"bytes") and None)
    assert (tmp_path / "fed").read_text() == "bytes"
    wait(HOST.spawn(["only-root-uses-it"], log=tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "there\n"


def test_a_daemon_finds_administrators_programs_too(plain_su: Path, tmp_path: Path) -> None:
    program(plain_su / "only-root-uses-it", "true")
    pid = HOST.spawn(["sh", "-c", "command -v only-root-uses-it"], log=tmp_path / "log")
    wait(pid)
    assert (tmp_path / "log").read_text() == f"{plain_su}/only-root-uses-it\n"


def test_a_program_of_paths_own_wins(plain_su: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program(plain_su / "twice", "echo system")
    own = program(tmp_path / "bin" / "twice", "echo own")
    assert HOST.find("twice") == own
    assert HOST.find("in-no-directory") is None


def test_a_missing_tool_is_told_also_where_it_gets_input_or_stays(tmp_path: Path) -> None:
    with pytest.raises(TrainyardError, match="no-such-tool: No such file") as fed:
        HOST.feed(["no-such-tool"], lambda stream: None)
    with pytest.raises(TrainyardError, match="no-such-tool: No such file") as spawned:
        HOST.spawn(["no-such-tool"], log=tmp_path / "log")
    assert fed.value.next_step
    assert spawned.value.next_step


def test_input_reaches_the_command(tmp_path: Path) -> None:
    target = tmp_path / "out"
    copy = f"import sys; open({str(target)!r}, 'wb').write(sys.stdin.buffer.read())"
    HOST.feed([sys.executable, "-c", copy], lambda stream: stream.write(b"bytes") and None)
    assert target.read_bytes() == b"bytes"


def test_half_an_input_never_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "out"
    copy = f"import sys; data = sys.stdin.buffer.read(); open({str(target)!r}, 'wb').write(data)"

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half")
        stream.flush()
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        HOST.feed([sys.executable, "-c", copy], fail)
    assert not target.exists()


def test_a_command_that_refuses_its_input_says_why() -> None:
    code = "import sys; sys.stdin.close(); print('not today', file=sys.stderr); sys.exit(1)"
    with pytest.raises(TrainyardError, match="not today"):
        HOST.feed([sys.executable, "-c", code], lambda stream: stream.write(b"x" * (1 << 20)) and None)


def test_a_daemon_has_its_own_session_and_log_and_is_reaped(tmp_path: Path) -> None:
    log = tmp_path / "log" / "daemon.log"
    pid = HOST.spawn([sys.executable, "-c", "import time; time.sleep(600)"], log=log)
    assert os.getsid(pid) == pid
    assert log.exists()
    HOST.signal(pid, signal.SIGKILL)
    wait(pid)
    HOST.signal(pid, signal.SIGTERM)


def test_files_are_written_whole_with_their_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    HOST.write(path, "secret", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in HOST.entries(path.parent)] == ["b"]


def test_removing_takes_links_and_not_their_targets(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    HOST.remove(link)
    HOST.remove(tmp_path / "absent")
    assert target.is_dir()
    assert not HOST.exists(link)


def test_libraries_are_read_from_ldd() -> None:
    listing = (
        "\tlinux-vdso.so.1 (0x00007f89)\n"
        "\tlibmnl.so.0 => /lib/x/libmnl.so.0 (0x00007f89)\n"
        "\t/lib64/ld-linux.so.2 (0x00007f89)\n"
        "\tlibgone.so => not found\n"
    )
    assert list(parse(listing)) == ["/lib/x/libmnl.so.0", "/lib64/ld-linux.so.2"]


def test_a_script_needs_no_libraries(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert needed_by(script) == {}
