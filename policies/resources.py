"""Containers say what they need and where they stop, so that queues can count and nodes stay whole (R4.1)."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from infra.quantity import parse_quantity
from policies.pods import PodTemplate
from policies.problems import Problem, guarded, in_each_pod, report
from policies.reading import Manifest, Node

CONTROL: Final = "Trainyard resources, R4.1"
REQUIRED: Final = (("requests", "cpu"), ("requests", "memory"), ("limits", "memory"))
EXAMPLE: Final = "500m for cpu, 4Gi for memory"


def validate(manifest: Manifest) -> list[str]:
    """Violations of the requests and limits of every container."""
    rules = [_required, _quantities, _requests_within_limits]
    return report(manifest, in_each_pod(manifest, container_rules=rules), control=CONTROL)


def _required(_: PodTemplate, container: Node) -> Iterator[Problem]:
    for field, resource in REQUIRED:
        yield from guarded(_above_zero(container, field, resource))


def _above_zero(container: Node, field: str, resource: str) -> Iterator[Problem]:
    value = container.get("resources", field, resource)
    if value is None:
        yield Problem(f"resources.{field}.{resource} is not set", f"set it, for example {EXAMPLE}")
    elif parse_quantity(value) == 0:
        yield Problem(f"resources.{field}.{resource} is zero", f"set what it uses, for example {EXAMPLE}")


def _quantities(_: PodTemplate, container: Node) -> Iterator[Problem]:
    for field in ("requests", "limits"):
        for resource in container.at("resources", field).mapping():
            yield from guarded(_parseable(container, field, resource))


def _parseable(container: Node, field: str, resource: str) -> Iterator[Problem]:
    value = container.get("resources", field, resource)
    if value is not None and parse_quantity(value) is None:
        yield Problem(f"resources.{field}.{resource} is {value!r}, no quantity", f"write it as {EXAMPLE}")


def _requests_within_limits(_: PodTemplate, container: Node) -> Iterator[Problem]:
    for resource in container.at("resources", "requests").mapping():
        request = _amount(container, "requests", resource)
        limit = _amount(container, "limits", resource)
        if request is not None and limit is not None and request > limit:
            yield Problem(f"requests more {resource} than its limit", "raise the limit or lower the request")


def _amount(container: Node, field: str, resource: str) -> Decimal | None:
    return parse_quantity(container.get("resources", field, resource))
