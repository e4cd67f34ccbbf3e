"""Containerfiles that need no container: where nothing runs, a COPY is a layer and the rest is configuration.

The same file builds with buildah or podman from the same directory; writing the layers directly spares three
copies of the several gigabytes that a training framework weighs.
"""

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

from infra.errors import InvalidInput


@dataclass(frozen=True)
class Copy:
    """One layer: a directory of the build context, and where it lies in the image."""

    source: str
    target: str


@dataclass
class Recipe:
    """Layers to add to a base image, and the changes to its configuration (OCI image config, `config`)."""

    copies: list[Copy] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, base: dict[str, Any]) -> dict[str, Any]:
        """The image's configuration: the base's with this recipe's changes."""
        inherited = dict(entry.split("=", maxsplit=1) for entry in base.get("Env") or [])
        environment = {**inherited, **self.environment}
        return {**base, **self.settings, "Env": [f"{name}={value}" for name, value in environment.items()]}


def parse(text: str) -> Recipe:
    """Read a Containerfile; raises InvalidInput for an instruction that would need a running container."""
    recipe = Recipe()
    joined = re.sub(r"\\\n", " ", text)
    lines = (line.strip() for line in joined.splitlines())
    for line in lines:
        if line and not line.startswith("#"):
            instruction, _, rest = line.partition(" ")
            _apply(recipe, instruction.upper(), rest.strip())
    return recipe


def _apply(recipe: Recipe, instruction: str, rest: str) -> None:
    if instruction in ("ARG", "FROM"):
        return
    if instruction == "ENV":
        parts = (word.partition("=") for word in shlex.split(rest))
        recipe.environment.update({name: value for name, _, value in parts})
    elif instruction == "COPY":
        source, target = shlex.split(rest)
        recipe.copies.append(Copy(source, target))
    elif instruction in ("USER", "WORKDIR"):
        recipe.settings[{"USER": "User", "WORKDIR": "WorkingDir"}[instruction]] = rest
    elif instruction in ("ENTRYPOINT", "CMD"):
        recipe.settings[{"ENTRYPOINT": "Entrypoint", "CMD": "Cmd"}[instruction]] = json.loads(rest)
    else:
        raise InvalidInput(
            f"Containerfile: {instruction} is not possible in an image that is built without a container",
            next_step="move what has to run into images/base/Containerfile",
        )
