"""The programs and plugins that run for the engine, ended together when the host ends."""

import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

GRACE_SECONDS = 5.0


class Processes:
    """Child processes of the host, in its own process group, so that the engine's signals reach them too."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ending = False

    def start(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        capture: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a child; with `capture` its output is piped, else it goes where the host's own goes."""
        output = subprocess.PIPE if capture else None
        with self._lock:
            child = subprocess.Popen(
                list(arguments),
                env=dict(environment),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            self._running.add(child)
        return child

    def wait(self, child: subprocess.Popen[bytes]) -> int:
        """The child's exit status: negative for a signal, as in `subprocess`."""
        status = child.wait()
        with self._lock:
            self._running.discard(child)
        return status

    @property
    def ending(self) -> bool:
        """Whether the children were told to end, so that their exit status means nothing."""
        return self._ending

    def interrupt(self) -> None:
        """Interrupt every child, and kill those that are still there after a grace time."""
        with self._lock:
            self._ending = True
            children = list(self._running)
        for child in children:
            end(child)


def end(child: subprocess.Popen[bytes]) -> None:
    """Interrupt one child, and kill it when the grace time is over."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
