"""SIGTERM or Ctrl-C in a worker: at once while nothing is at stake, after the step while training."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from trainer.errors import Terminated


class StopSignal:
    """Remembers that the process was asked to stop."""

    def __init__(self) -> None:
        self.requested = False
        self._deferred = False

    def install(self) -> None:
        """Handle SIGTERM and SIGINT from now on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.request())

    def request(self) -> None:
        """Ask to stop; raises Terminated right here unless inside `deferred`."""
        self.requested = True
        if not self._deferred:
            raise Terminated("asked to stop before training began or after it ended; nothing was lost")

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only remember a request, so that the block can end in good order."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
