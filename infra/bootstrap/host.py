"""Where commands run and files lie; the steps of this package know hosts only through these methods."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from infra.errors import TrainyardError, describe, system_errors

CONNECT_SECONDS = 1.0
NOT_FOUND = 127
AGAIN = "correct the cause and run the command again"
SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Completed:
    """How a command ended: exit code, output, error output."""

    code: int
    output: str
    errors: str


class Host(Protocol):
    """A machine; file methods take absolute paths."""

    def run(
        self,
        args: Sequence[str | Path],
        *,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        next_step: str = AGAIN,
    ) -> Completed: ...

    def feed(
        self, args: Sequence[str | Path], writer: Callable[[IO[bytes]], None], *, next_step: str = AGAIN
    ) -> None: ...

    def spawn(self, args: Sequence[str | Path], *, log: Path) -> int: ...

    def find(self, program: str) -> Path | None: ...

    def signal(self, pid: int, number: int) -> None: ...

    def connects(self, address: str, port: int) -> bool: ...

    def exists(self, path: Path) -> bool: ...

    def read(self, path: Path) -> str: ...

    def write(self, path: Path, text: str, *, mode: int = 0o644) -> None: ...

    def append(self, path: Path, text: str) -> None: ...

    def make_directory(self, path: Path, *, mode: int = 0o755, owner: int = 0) -> None: ...

    def is_directory(self, path: Path) -> bool: ...

    def link_target(self, path: Path) -> Path | None: ...

    def entries(self, path: Path) -> list[Path]: ...

    def remove(self, path: Path) -> None: ...

    def remove_empty(self, path: Path) -> None: ...


class LocalHost:
    """This machine."""

    def run(
        self,
        args: Sequence[str | Path],
        *,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        next_step: str = AGAIN,
    ) -> Completed:
        """Run to the end; raises TrainyardError with the tool's own last words if `check` and it fails."""
        command = [str(arg) for arg in args]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=_environment(env)
            )
        except OSError as error:
            completed = Completed(NOT_FOUND, "", describe(error))
        else:
            completed = Completed(done.returncode, done.stdout, done.stderr)
        if check and completed.code != 0:
            raise TrainyardError(failure_message(command, completed), next_step=next_step)
        return completed

    def feed(
        self, args: Sequence[str | Path], writer: Callable[[IO[bytes]], None], *, next_step: str = AGAIN
    ) -> None:
        """Run a command with what `writer` writes as its input; raises TrainyardError if it fails."""
        command = [str(arg) for arg in args]
        with tempfile.TemporaryFile() as said:
            process = _start(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
            assert process.stdin is not None
            try:
                writer(process.stdin)
                process.stdin.close()
            except BrokenPipeError:
                pass
            except BaseException:
                process.kill()
                raise
            finally:
                code = process.wait()
            said.seek(0)
            errors = said.read().decode(errors="replace")
        if code != 0:
            raise TrainyardError(failure_message(command, Completed(code, "", errors)), next_step=next_step)

    def spawn(self, args: Sequence[str | Path], *, log: Path) -> int:
        """Start a daemon in a session of its own, output appended to `log`; returns its process id.

        Raises TrainyardError where the program cannot be started.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stream:
            process = _start(
                [str(arg) for arg in args],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                cwd="/",
            )
        return process.pid

    def find(self, program: str) -> Path | None:
        """An executable on PATH or in the directories of administrators' programs; None without one."""
        found = shutil.which(program, path=_search_path(os.environ))
        return Path(found) if found else None

    def signal(self, pid: int, number: int) -> None:
        """Send a signal, and reap the process if it is a child of this one; gone already is no error."""
        try:
            os.kill(pid, number)
            os.waitpid(pid, os.WNOHANG)
        except (ProcessLookupError, ChildProcessError):
            return

    def connects(self, address: str, port: int) -> bool:
        """Whether something accepts TCP connections there."""
        try:
            with socket.create_connection((address, port), timeout=CONNECT_SECONDS):
                return True
        except OSError:
            return False

    def exists(self, path: Path) -> bool:
        return os.path.lexists(path)

    def read(self, path: Path) -> str:
        return path.read_text()

    def write(self, path: Path, text: str, *, mode: int = 0o644) -> None:
        """Write through a temporary file, so that a reader never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name(f".{path.name}.new")
        staged.write_text(text)
        staged.chmod(mode)
        staged.replace(path)

    def append(self, path: Path, text: str) -> None:
        """Write to the end of a file in place, as the kernel's own files want it."""
        with path.open("a") as stream:
            stream.write(text)

    def make_directory(self, path: Path, *, mode: int = 0o755, owner: int = 0) -> None:
        """Make a directory with its parents; sets mode and owner (user and group) also where it exists."""
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        os.chown(path, owner, owner)

    def is_directory(self, path: Path) -> bool:
        return path.is_dir() and not path.is_symlink()

    def link_target(self, path: Path) -> Path | None:
        """Where a symbolic link points, None for anything else."""
        return path.readlink() if path.is_symlink() else None

    def entries(self, path: Path) -> list[Path]:
        """Sorted content of a directory, empty where there is none."""
        try:
            return sorted(path.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, path: Path) -> None:
        """Remove a file, link or whole directory; absent is fine."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def remove_empty(self, path: Path) -> None:
        """Remove an empty directory (a control group counts as one); anything else stays."""
        with contextlib.suppress(OSError):
            path.rmdir()


def failure_message(command: Sequence[str], completed: Completed, *, num_lines: int = 12) -> str:
    """One message of a failed command: name, exit code and the last lines that it printed."""
    said = (completed.errors.strip() or completed.output.strip()).splitlines()[-num_lines:]
    return "\n    ".join([f"{_title(command)} failed with exit code {completed.code}", *said])


def _start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    with system_errors(next_step="`trainyard doctor` lists what is missing; then run the command again"):
        return subprocess.Popen(command, env=_environment(), **options)


def _environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    merged = {**os.environ, **(extra or {})}
    return {**merged, "PATH": _search_path(merged)}


def _search_path(variables: Mapping[str, str]) -> str:
    """PATH, and what a plain `su` leaves out of root's."""
    return os.pathsep.join((variables.get("PATH", os.defpath), *SYSTEM_DIRECTORIES))


def _title(command: Iterable[str]) -> str:
    return " ".join([Path(word).name if word.startswith("/") else word for word in command][:3])
