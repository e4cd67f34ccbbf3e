"""Failures that the host reports to the engine in one message."""


class HostError(Exception):
    """A request cannot be served as the project is set up; the message says what to change."""
