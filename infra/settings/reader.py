"""Reads stack and run files: YAML in, plain objects out, with one clear error for bad input."""

from pathlib import Path
from typing import Any

import yaml

from infra.errors import InvalidInput
from infra.paths import REPOSITORY

STACK_KEY = "trainyard:stack"


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice: the later one would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is not text", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The file's content as plain objects; raises `InvalidInput` naming file, line and cause."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", next_step="check the file name") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 text at byte {error.start}") from None
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InvalidInput(f"{path}{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path}: {str(error).splitlines()[0]}") from None


def stack_file(stack: str) -> Path:
    """Where the stack's file lies."""
    return REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml"


def read_stack_object(stack: str) -> Any:
    """The value under `config: trainyard:stack:` of the stack's file."""
    path = stack_file(stack)
    if not path.exists():
        known = sorted(
            p.name.removeprefix("Pulumi.").removesuffix(".yaml") for p in path.parent.glob("Pulumi.*.yaml")
        )
        raise InvalidInput(
            f"stack {stack!r}: no file {path.name} in stacks/", next_step=f"use one of: {', '.join(known)}"
        )
    content = read_yaml(path)
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict) or STACK_KEY not in config:
        raise InvalidInput(f"{path}: no settings under config: {STACK_KEY}:")
    return config[STACK_KEY]
