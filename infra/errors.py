"""Errors that a user meets: one sentence each, with the next step, and the exit code of the command."""

from collections.abc import Iterator
from contextlib import contextmanager


class TrainyardError(Exception):
    """A failure that a user can act on; commands print it without a traceback and exit with `exit_code`.

    `message` names the field or file and the cause; `next_step` says what to do.
    """

    exit_code = 1

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message if not next_step else f"{message}\n  next: {next_step}")
        self.message = message
        self.next_step = next_step


class InvalidInput(TrainyardError):
    """Wrong usage or an invalid file; nothing was touched."""

    exit_code = 2


class Refused(TrainyardError):
    """Refused for safety: going on could lose results."""

    exit_code = 3


@contextmanager
def system_errors(*, next_step: str) -> Iterator[None]:
    """Raise what the operating system refuses (OSError) as a TrainyardError with that next step."""
    try:
        yield
    except OSError as error:
        raise TrainyardError(describe(error), next_step=next_step) from error


def describe(error: OSError) -> str:
    """File, where there is one, and reason."""
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{error.filename}: {reason}"
