from typing import Any

import pytest

from policies.images import validate
from policies.reading import UNKNOWN

DIGEST = "sha256:" + "0a" * 32
PATHS = [("spec", "containers", 0, "image"), ("spec", "initContainers", 0, "image")]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "image",
    [
        f"registry.example.com:5000/team/trainer@{DIGEST}",
        f"registry.example.com/team/trainer:v1@{DIGEST}",
        f"trainer@{DIGEST}",
        "localhost/trainyard/trainer:0123456789ab",
        "localhost/trainyard/base:" + "f" * 64,
        "localhost/trainyard/kueue:v0.17.0",
        "localhost/trainyard/jobset:v0.11.1",
    ],
)
def test_pinned_images_pass(pod: Any, edited: Any, path: Any, image: str) -> None:
    assert validate(edited(pod, path, image)) == []


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("localhost/trainyard/trainer:latest", "the tag 'latest'"),
        ("localhost/trainyard/trainer", "no tag, which means latest"),
        ("registry.example.com:5000/team/trainer", "no tag, which means latest"),
        ("registry.example.com/team/trainer:v1.2.3", "the tag 'v1.2.3'"),
        ("registry.example.com/team/trainer:0123456789ab", "the tag '0123456789ab'"),
        ("localhost/trainyard/trainer:0123456789", "the tag '0123456789'"),
        ("localhost/trainyard/trainer:0123456789AB", "the tag '0123456789AB'"),
        ("localhost/trainyard/trainer:v0.17.0", "the tag 'v0.17.0'"),
        ("localhost/trainyard/kueue:main", "the tag 'main'"),
        ("evil.example.com/localhost/trainyard/kueue:v0.17.0", "the tag 'v0.17.0'"),
        ("trainer@sha256:0a0a", "a malformed digest"),
        (f"trainer@{DIGEST}0", "a malformed digest"),
        (f"@{DIGEST}", "a malformed digest"),
        (f"trainer@{DIGEST}\n", "a malformed digest"),
        ("", "names no image"),
        (None, "names no image"),
        (7, "names no image"),
    ],
)
def test_movable_images_are_refused(pod: Any, edited: Any, image: object, expected: str) -> None:
    (message,) = validate(edited(pod, PATHS[0], image))
    assert message.startswith("Pod team-a/probe: container 'trainer': ")
    assert expected in message
    assert "R3.9" in message and "@sha256:" in message.partition("next: ")[2]


def test_an_unknown_image_does_not_pass(pod: Any, edited: Any) -> None:
    (message,) = validate(edited(pod, PATHS[0], UNKNOWN))
    assert "spec.containers[0].image is unknown at preview" in message


def test_pods_that_are_unknown_do_not_pass(run: Any, edited: Any) -> None:
    (message,) = validate(edited(run, ("spec", "replicatedJobs"), UNKNOWN))
    assert "spec.replicatedJobs is unknown at preview" in message


def test_each_container_is_judged(pod: Any, edited: Any) -> None:
    manifest = edited(edited(pod, PATHS[0], "a:latest"), PATHS[1], "b:latest")
    assert [message.split(": ")[1] for message in validate(manifest)] == [
        "init container 'verify-data'",
        "container 'trainer'",
    ]


@pytest.mark.parametrize(("image", "num_violations"), [("weights:latest", 1), (f"weights@{DIGEST}", 0)])
def test_images_mounted_as_volumes_are_judged(pod: Any, edited: Any, image: str, num_violations: int) -> None:
    volume = {"name": "weights", "image": {"reference": image}}
    assert len(validate(edited(pod, ("spec", "volumes", 1), volume))) == num_violations
