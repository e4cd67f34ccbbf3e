"""Reading manifests in which a value may still be unknown, or of the wrong shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Manifest = Mapping[str, Any]


class Unknown:
    """A value that a preview cannot know, such as another resource's future output."""

    def __repr__(self) -> str:
        return "(unknown)"


UNKNOWN: Final = Unknown()


class Unjudged(Exception):
    """A property that a rule needs and cannot read; a rule that meets one has not passed."""

    def __init__(self, text: str, *, next_step: str) -> None:
        super().__init__(text)
        self.text = text
        self.next_step = next_step


@dataclass(frozen=True)
class Node:
    """A value inside a manifest and where it is; every method raises `Unjudged` for what it cannot read."""

    value: object
    path: str = ""

    def at(self, *keys: str) -> "Node":
        """The node below; its value is None where a key is absent."""
        node = self
        for key in keys:
            node = Node(node.mapping().get(key), f"{node.path}.{key}".lstrip("."))
        return node

    def get(self, *keys: str) -> object:
        """The value below, None where absent."""
        return self.at(*keys).known()

    def known(self) -> object:
        """The value itself."""
        if isinstance(self.value, Unknown):
            raise Unjudged(
                f"{self.path} is unknown at preview, and what is unknown does not pass",
                next_step="declare the value in the program; do not take it from another resource's output",
            )
        return self.value

    def mapping(self) -> Mapping[str, object]:
        """The value as a mapping, empty where absent."""
        value = self.known()
        if value is not None and not isinstance(value, Mapping):
            raise _malformed(self, "a mapping")
        return value or {}

    def items(self, *keys: str) -> Iterator["Node"]:
        """The elements of the list below, none where absent."""
        below = self.at(*keys)
        value = below.known()
        if value is not None and not isinstance(value, list | tuple):
            raise _malformed(below, "a list")
        for index, element in enumerate(value or ()):
            yield Node(element, f"{below.path}[{index}]")


def _malformed(node: Node, expected: str) -> Unjudged:
    text = f"{node.path} is {type(node.value).__name__}, not {expected}"
    return Unjudged(text, next_step=f"write {expected} there")
