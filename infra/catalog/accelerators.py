"""The typed loader of accelerators.yaml."""

from functools import cache
from pathlib import Path

import yaml

from infra.settings.section import Section


class Accelerator(Section):
    """An accelerator family as Kubernetes and the collective library see it."""

    resource: str | None
    backend: str


@cache
def accelerator(name: str) -> Accelerator:
    """The entry called `name`; raises `KeyError` for one that the catalogue lacks."""
    text = Path(__file__).with_name("accelerators.yaml").read_text(encoding="utf-8")
    return Accelerator.model_validate(yaml.safe_load(text)[name])
