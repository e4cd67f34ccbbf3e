"""Progress lines with the seconds since the start."""

import sys
import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Prints `[  3.2 s] message` lines; tests pass a stream and a clock of their own."""

    def __init__(self, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._start = clock()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since this object was made."""
        return self._clock() - self._start

    def say(self, message: str) -> None:
        """Print one line."""
        self._stream.write(f"[{self.elapsed_seconds:6.1f} s] {message}\n")
        self._stream.flush()
