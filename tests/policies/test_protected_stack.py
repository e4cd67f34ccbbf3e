from typing import Any

import pytest

from policies.protected_stack import validate_stack
from policies.reading import UNKNOWN

RESULTS = {"trainyard.dev/results": "true"}


@pytest.fixture
def claim() -> Any:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "checkpoints", "namespace": "team-a", "labels": dict(RESULTS)},
        "spec": {"volumeName": "local-a-checkpoints", "storageClassName": ""},
    }


@pytest.fixture
def volume() -> Any:
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": "local-a-checkpoints", "labels": dict(RESULTS)},
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    }


def test_a_run_on_a_protected_volume_passes(run: Any, claim: Any, volume: Any) -> None:
    assert validate_stack([run, claim, volume]) == []


def test_a_volume_reserved_for_the_claim_counts(run: Any, claim: Any, volume: Any, edited: Any) -> None:
    reserved = edited(volume, ("spec", "claimRef"), {"namespace": "team-a", "name": "checkpoints"})
    waiting = edited(claim, ("spec", "volumeName"), ...)
    assert validate_stack([run, waiting, reserved]) == []
    assert len(validate_stack([run, waiting, volume])) == 1


def test_a_volume_provisioned_by_a_protected_class_passes(run: Any, claim: Any, edited: Any) -> None:
    storage_class = {"kind": "StorageClass", "metadata": {"name": "shared", "labels": RESULTS}}
    provisioned = edited(
        edited(claim, ("spec", "storageClassName"), "shared"), ("spec", "volumeName"), "pvc-1"
    )
    assert validate_stack([run, provisioned, storage_class]) == []
    unlabelled = edited(storage_class, ("metadata", "labels"), {})
    (message,) = validate_stack([run, provisioned, unlabelled])
    assert "StorageClass shared is not marked so" in message


def test_a_claim_that_the_stack_does_not_declare_is_refused(
    run: Any, claim: Any, volume: Any, edited: Any
) -> None:
    elsewhere = edited(claim, ("metadata", "namespace"), "team-b")
    for manifests in ([run], [run, elsewhere, volume]):
        (message,) = validate_stack(manifests)
        assert message.startswith("JobSet team-a/first-words-1a2b3c4d: ")
        assert "claim 'checkpoints', which this stack does not declare" in message


@pytest.mark.parametrize("labels", [{}, {"trainyard.dev/results": "false"}])
def test_a_claim_that_is_not_marked_is_refused(
    run: Any, claim: Any, volume: Any, edited: Any, labels: Any
) -> None:
    (message,) = validate_stack([run, edited(claim, ("metadata", "labels"), labels), volume])
    assert "not marked as holding results" in message


@pytest.mark.parametrize("name", ["other", None, ...])
def test_a_claim_whose_volume_is_not_in_the_stack_is_refused(
    run: Any, claim: Any, volume: Any, edited: Any, name: object
) -> None:
    nameless = edited(volume, ("metadata", "name"), UNKNOWN)
    unbound = edited(claim, ("spec", "volumeName"), name)
    (message,) = validate_stack([run, unbound, volume, nameless])
    assert message.startswith("PersistentVolumeClaim team-a/checkpoints: ")
    assert "neither its volume nor its storage class" in message


def test_a_volume_is_not_taken_for_a_storage_class(run: Any, claim: Any) -> None:
    namesake = {"kind": "StorageClass", "metadata": {"name": "local-a-checkpoints", "labels": RESULTS}}
    assert len(validate_stack([run, claim, namesake])) == 1


def test_checkpoints_without_a_claim_are_left_to_the_policy_on_the_run(run: Any, edited: Any) -> None:
    spec = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
    volume = {"name": "checkpoints", "emptyDir": {}}
    assert validate_stack([edited(run, (*spec, "volumes", 0), volume)]) == []


def test_a_claim_on_an_unmarked_volume_is_refused(run: Any, claim: Any, volume: Any, edited: Any) -> None:
    (message,) = validate_stack([run, claim, edited(volume, ("metadata", "labels"), {})])
    assert "PersistentVolume local-a-checkpoints is not marked so" in message
    assert "\n  next: label it trainyard.dev/results: 'true'" in message


@pytest.mark.parametrize("path", [("spec", "volumeName"), ("metadata", "labels"), ("spec",)])
def test_an_unknown_claim_does_not_pass(run: Any, claim: Any, volume: Any, edited: Any, path: Any) -> None:
    messages = validate_stack([run, edited(claim, path, UNKNOWN), volume])
    assert any("is unknown at preview" in message for message in messages)


def test_claims_without_results_may_lie_anywhere(claim: Any, edited: Any) -> None:
    assert validate_stack([edited(claim, ("metadata", "labels"), {})]) == []
