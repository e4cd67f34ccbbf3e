"""Failures with a meaning, and the exit code that each one gives the pod."""

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_NEVER_RETRY = 78
EXIT_TERMINATED = 143


class TrainerError(Exception):
    """A failure explained to the user by its message alone; the run may be retried."""

    exit_code = EXIT_FAILED


class ConfigError(TrainerError):
    """The run file is wrong; a retry cannot help."""

    exit_code = EXIT_NEVER_RETRY


class IncompatibleCheckpoint(TrainerError):
    """The newest checkpoint belongs to another model, data set or order; a retry cannot help."""

    exit_code = EXIT_NEVER_RETRY


class Diverged(TrainerError):
    """The loss or the gradient is no longer finite; a retry would meet the same batch again."""

    exit_code = EXIT_NEVER_RETRY


class DataError(TrainerError):
    """The data set is damaged, incomplete, or cannot be read in time."""


class HandshakeTimeout(TrainerError):
    """Not all ranks met within the time given."""


class Terminated(TrainerError):
    """The pod was asked to stop; the scheduler decides whether the run goes on."""

    exit_code = EXIT_TERMINATED
