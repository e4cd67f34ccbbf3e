from typing import Any

import pytest

from policies.protected_results import validate
from policies.reading import UNKNOWN

RESULTS = {"trainyard.dev/results": "true"}
SPEC = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
RECLAIM = ("spec", "persistentVolumeReclaimPolicy")


@pytest.fixture
def volume() -> Any:
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": "local-a-checkpoints", "labels": dict(RESULTS)},
        "spec": {"persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/vault"}},
    }


def test_a_retained_volume_passes(volume: Any) -> None:
    assert validate(volume) == []


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (RECLAIM, "Delete", "persistentVolumeReclaimPolicy is Delete"),
        (RECLAIM, "Recycle", "persistentVolumeReclaimPolicy is Recycle"),
        (RECLAIM, ..., "persistentVolumeReclaimPolicy is unset"),
        (RECLAIM, UNKNOWN, "persistentVolumeReclaimPolicy is unknown at preview"),
        (("metadata", "labels", "trainyard.dev/results"), "yes", "trainyard.dev/results is 'yes'"),
    ],
)
def test_a_results_volume_that_a_claim_could_empty_is_refused(
    volume: Any, edited: Any, path: Any, value: object, expected: str
) -> None:
    (message,) = validate(edited(volume, path, value))
    assert message.startswith("PersistentVolume local-a-checkpoints: ")
    assert expected in message
    assert "R10.2" in message and "\n  next: " in message


def test_a_volume_whose_label_is_unknown_is_refused(volume: Any, edited: Any) -> None:
    (message,) = validate(edited(volume, ("metadata", "labels"), UNKNOWN))
    assert "metadata.labels is unknown" in message


@pytest.mark.parametrize("labels", [{}, {"trainyard.dev/results": "false"}])
def test_other_volumes_may_be_deleted(volume: Any, edited: Any, labels: Any) -> None:
    assert validate(edited(edited(volume, RECLAIM, "Delete"), ("metadata", "labels"), labels)) == []


@pytest.mark.parametrize("labels", [UNKNOWN, {"trainyard.dev/purpose": "training"}])
def test_what_is_neither_a_volume_nor_a_run_is_left_alone(labels: object) -> None:
    assert validate({"kind": "ConfigMap", "metadata": {"name": "run", "labels": labels}}) == []


@pytest.mark.parametrize(("policy", "num_violations"), [("Retain", 0), ("Delete", 1), (None, 1)])
def test_storage_classes_for_results_retain(policy: str | None, num_violations: int) -> None:
    manifest = {
        "kind": "StorageClass",
        "metadata": {"name": "shared", "labels": RESULTS},
        "reclaimPolicy": policy,
    }
    assert len(validate(manifest)) == num_violations


def test_a_training_run_with_a_claim_passes(run: Any) -> None:
    assert validate(run) == []


@pytest.mark.parametrize(
    "volume",
    [{"emptyDir": {}}, {"ephemeral": {}}, {"persistentVolumeClaim": {}}, {"persistentVolumeClaim": None}],
)
def test_checkpoints_on_a_volume_that_ends_with_the_pod_are_refused(
    run: Any, edited: Any, volume: Any
) -> None:
    (message,) = validate(edited(run, (*SPEC, "volumes", 0), {"name": "checkpoints", **volume}))
    assert "volume 'checkpoints', which is no persistent claim" in message


@pytest.mark.parametrize(
    "path", ["/checkpoints", "/checkpoints/", "//checkpoints", "/checkpoints/first-words"]
)
def test_checkpoint_mounts_are_found_by_their_place(run: Any, edited: Any, path: str) -> None:
    mount = {"name": "tmp", "mountPath": path}
    (message,) = validate(edited(run, (*SPEC, "containers", 0, "volumeMounts", 1), mount))
    assert "volume 'tmp'" in message


def test_checkpoint_mounts_are_found_by_their_name(run: Any, edited: Any) -> None:
    elsewhere = run
    for field in ("initContainers", "containers"):
        elsewhere = edited(elsewhere, (*SPEC, field, 0, "volumeMounts", 0, "mountPath"), "/mnt/ckpt")
    assert validate(elsewhere) == []
    (message,) = validate(edited(elsewhere, (*SPEC, "volumes", 0), {"name": "checkpoints", "emptyDir": {}}))
    assert "volume 'checkpoints'" in message


def test_a_mount_without_its_volume_is_refused(run: Any, edited: Any) -> None:
    (message,) = validate(edited(run, (*SPEC, "volumes"), []))
    assert "volume 'checkpoints', which is no persistent claim" in message


@pytest.mark.parametrize(
    ("purpose", "num_violations"), [("training", 1), ("experiment", 0), ("evaluation", 0)]
)
def test_only_training_must_write_checkpoints(
    run: Any, edited: Any, purpose: str, num_violations: int
) -> None:
    bare = edited(run, ("metadata", "labels", "trainyard.dev/purpose"), purpose)
    for field in ("initContainers", "containers"):
        bare = edited(bare, (*SPEC, field, 0, "volumeMounts"), [])
    messages = validate(bare)
    assert len(messages) == num_violations
    assert all("mounts no checkpoint volume" in message for message in messages)


@pytest.mark.parametrize(
    "path",
    [
        (*SPEC, "volumes"),
        (*SPEC, "volumes", 0, "persistentVolumeClaim"),
        (*SPEC, "volumes", 0, "persistentVolumeClaim", "claimName"),
        (*SPEC, "containers", 0, "volumeMounts"),
        (*SPEC, "containers", 0, "volumeMounts", 0, "mountPath"),
    ],
)
def test_an_unknown_checkpoint_volume_does_not_pass(run: Any, edited: Any, path: Any) -> None:
    messages = validate(edited(run, path, UNKNOWN))
    assert messages and all("is unknown at preview" in message for message in messages)
