from typing import Any

import pytest

from policies.reading import UNKNOWN
from policies.resources import validate

RESOURCES = ("spec", "containers", 0, "resources")


def test_requests_within_limits_pass(pod: Any) -> None:
    assert validate(pod) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("requests", "cpu"), ..., "resources.requests.cpu is not set"),
        (("requests", "memory"), ..., "resources.requests.memory is not set"),
        (("limits", "memory"), ..., "resources.limits.memory is not set"),
        (("limits",), ..., "resources.limits.memory is not set"),
        (("requests", "cpu"), "0", "resources.requests.cpu is zero"),
        (("requests", "memory"), "0Gi", "resources.requests.memory is zero"),
        (("requests", "cpu"), "two", "resources.requests.cpu is 'two', no quantity"),
        (("requests", "cpu"), "-1", "resources.requests.cpu is '-1', no quantity"),
        (("requests", "memory"), "1GB", "resources.requests.memory is '1GB', no quantity"),
        (("limits", "memory"), "1 Gi", "resources.limits.memory is '1 Gi', no quantity"),
        (("limits", "nvidia.com/gpu"), "eight", "resources.limits.nvidia.com/gpu is 'eight', no quantity"),
        (("requests", "memory"), "2049Mi", "requests more memory than its limit"),
        (("limits", "cpu"), 0.25, "requests more cpu than its limit"),
        (("requests", "cpu"), UNKNOWN, "resources.requests.cpu is unknown at preview"),
        (("limits",), UNKNOWN, "resources.limits is unknown at preview"),
        (("requests",), ["cpu"], "resources.requests is list, not a mapping"),
    ],
)
def test_each_mistake_is_one_violation(
    pod: Any, edited: Any, path: Any, value: object, expected: str
) -> None:
    (message,) = validate(edited(pod, (*RESOURCES, *path), value))
    assert message.startswith("Pod team-a/probe: container 'trainer': ")
    assert expected in message
    assert "R4.1" in message and "\n  next: " in message


def test_a_container_without_resources_misses_all_three(pod: Any, edited: Any) -> None:
    assert len(validate(edited(pod, RESOURCES, ...))) == 3


def test_init_containers_are_judged(pod: Any, edited: Any) -> None:
    (message,) = validate(edited(pod, ("spec", "initContainers", 0, "resources", "requests", "cpu"), ...))
    assert "init container 'verify-data'" in message


def test_a_resource_without_a_value_is_as_good_as_absent(pod: Any, edited: Any) -> None:
    assert validate(edited(pod, (*RESOURCES, "requests", "example.com/card"), None)) == []


@pytest.mark.parametrize(("wanted", "limit"), [(2, "2"), ("1024Mi", "1Gi"), ("1000m", 1.0)])
def test_equal_amounts_in_other_units_pass(pod: Any, edited: Any, wanted: object, limit: object) -> None:
    manifest = edited(pod, (*RESOURCES, "requests", "example.com/card"), wanted)
    assert validate(edited(manifest, (*RESOURCES, "limits", "example.com/card"), limit)) == []
