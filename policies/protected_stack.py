"""What only the whole stack shows: whether the claim behind checkpoints leads to a protected volume."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from policies.checkpoints import checkpoint_volumes, claim_name
from policies.pods import PodTemplate
from policies.problems import Problem, guarded, in_each_pod, report
from policies.protected_results import CONTROL, RESULTS, is_results
from policies.reading import Manifest, Node

_CLAIM: Final = "PersistentVolumeClaim"


@dataclass(frozen=True)
class Storage:
    """The claims, volumes and storage classes of a stack, by the names that refer to them."""

    claims: Mapping[str, Node]
    volumes: Mapping[str, Node]
    reserved: Mapping[str, Node]
    classes: Mapping[str, Node]


def validate_stack(manifests: Sequence[Manifest]) -> list[str]:
    """Violations of claims that hold results on other volumes, and of runs that use other claims."""
    storage = _storage(manifests)
    messages: list[str] = []
    for manifest in manifests:
        if manifest.get("kind") == _CLAIM:
            problems = guarded(_backed(Node(manifest), storage))
        else:
            namespace = _below(manifest, "metadata", "namespace")
            problems = in_each_pod(manifest, pod_rules=[partial(_claims_hold_results, namespace, storage)])
        messages += report(manifest, problems, control=CONTROL)
    return messages


def _storage(manifests: Sequence[Manifest]) -> Storage:
    return Storage(
        claims=_by_name(manifests, _CLAIM, "metadata"),
        volumes=_by_name(manifests, "PersistentVolume", "metadata"),
        reserved=_by_name(manifests, "PersistentVolume", "spec", "claimRef"),
        classes=_by_name(manifests, "StorageClass", "metadata"),
    )


def _by_name(manifests: Sequence[Manifest], kind: str, *path: str) -> Mapping[str, Node]:
    found = {}
    for manifest in manifests:
        if manifest.get("kind") == kind:
            name = _name(_below(manifest, *path))
            if name:
                found[name] = Node(manifest)
    return found


def _name(reference: object) -> str:
    """`namespace/name`, or the name alone for what has no namespace; empty where it is not known."""
    name, namespace = _below(reference, "name"), _below(reference, "namespace")
    if not isinstance(name, str):
        return ""
    return f"{namespace}/{name}" if isinstance(namespace, str) else name


def _below(value: object, *path: str) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _claims_hold_results(namespace: object, storage: Storage, pod: PodTemplate) -> Iterator[Problem]:
    for _, volume in checkpoint_volumes(pod):
        name = claim_name(volume)
        if name is None:
            continue
        claim = storage.claims.get(_name({"namespace": namespace, "name": name}))
        if claim is None:
            yield Problem(
                f"checkpoints go to the claim {name!r}, which this stack does not declare",
                f"declare the claim in the stack, labelled {RESULTS}: 'true'",
            )
        elif not is_results(claim):
            yield Problem(
                f"checkpoints go to the claim {name!r}, which is not marked as holding results",
                f"label the claim and its volume {RESULTS}: 'true'",
            )


def _backed(claim: Node, storage: Storage) -> Iterator[Problem]:
    if not is_results(claim):
        return
    backing = _backing(claim, storage)
    if backing is None:
        yield Problem(
            "holds results, but neither its volume nor its storage class is in this stack",
            "set spec.volumeName, or spec.storageClassName, to one that the stack declares with Retain",
        )
    elif not is_results(backing):
        yield Problem(
            f"holds results, but {backing.get('kind')} {backing.get('metadata', 'name')} is not marked so",
            f"label it {RESULTS}: 'true', which makes Retain mandatory",
        )


def _backing(claim: Node, storage: Storage) -> Node | None:
    volume, storage_class = claim.get("spec", "volumeName"), claim.get("spec", "storageClassName")
    return (
        storage.volumes.get(_name({"name": volume}))
        or storage.reserved.get(_name(claim.get("metadata")))
        or storage.classes.get(_name({"name": storage_class}))
    )
