"""What a check of a node says, and what it gets to look at."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from infra.bootstrap.plan import Plan


class Result(Protocol):
    """How a command on the node ended."""

    rc: int
    stdout: str
    stderr: str


class Node(Protocol):
    """The parts of a testinfra host that checks use."""

    def run(self, command: str, *args: object) -> Result: ...

    def file(self, path: str) -> Any: ...

    def socket(self, specification: str) -> Any: ...

    def interface(self, name: str) -> Any: ...

    def sysctl(self, name: str) -> Any: ...


@dataclass(frozen=True)
class Declared:
    """What the node should be: its plan, and where its kubectl is."""

    plan: Plan
    kubectl: Path


@dataclass(frozen=True)
class Finding:
    """Whether the node is as declared, and what was found there."""

    passed: bool
    found: str


Check = Callable[[Node, Declared], Finding]
