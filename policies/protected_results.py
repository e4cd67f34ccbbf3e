"""Results outlive what made them: checkpoints, data and records lie on volumes that no deletion empties."""

from collections.abc import Iterator
from typing import Final

from policies.checkpoints import checkpoint_volumes, claim_name
from policies.expiry import PURPOSE
from policies.pods import PodTemplate, pod_templates
from policies.problems import Problem, guarded, in_each_pod, report
from policies.reading import Manifest, Node

CONTROL: Final = "Trainyard results, R5.5 and R10.2"
RESULTS: Final = "trainyard.dev/results"
_RECLAIM: Final = {
    "PersistentVolume": ("spec", "persistentVolumeReclaimPolicy"),
    "StorageClass": ("reclaimPolicy",),
}
_LABELLED: Final = frozenset({"PersistentVolumeClaim", *_RECLAIM})
_RUNS: Final = frozenset({"Job", "JobSet"})


def validate(manifest: Manifest) -> list[str]:
    """Violations that one manifest shows by itself: of a volume, or of a run's checkpoint mount."""
    return report(manifest, _problems(manifest), control=CONTROL)


def is_results(volume: Node) -> bool:
    """Whether a volume, claim or storage class says that it holds results."""
    return volume.get("metadata", "labels", RESULTS) == "true"


def _problems(manifest: Manifest) -> Iterator[Problem]:
    node, kind = Node(manifest), str(manifest.get("kind"))
    if kind in _LABELLED:
        yield from guarded(_readable_label(node))
    if kind in _RECLAIM:
        yield from guarded(_retained(node, _RECLAIM[kind]))
    yield from in_each_pod(manifest, pod_rules=[_checkpoints_are_claims])
    if kind in _RUNS:
        yield from guarded(_training_keeps_checkpoints(manifest))


def _readable_label(volume: Node) -> Iterator[Problem]:
    value = volume.get("metadata", "labels", RESULTS)
    if value not in (None, "true", "false"):
        yield Problem(f"label {RESULTS} is {value!r}, which would protect nothing", "write 'true' or 'false'")


def _retained(volume: Node, path: tuple[str, ...]) -> Iterator[Problem]:
    if is_results(volume) and volume.get(*path) != "Retain":
        yield Problem(
            f"{'.'.join(path)} is {volume.get(*path) or 'unset'}, so deleting a claim would delete results",
            f"set {path[-1]} to Retain",
        )


def _checkpoints_are_claims(pod: PodTemplate) -> Iterator[Problem]:
    for name, volume in checkpoint_volumes(pod):
        if claim_name(volume) is None:
            yield Problem(
                f"checkpoints go to the volume {name!r}, which is no persistent claim and ends with the pod",
                f"mount a claim labelled {RESULTS}: 'true' there",
            )


def _training_keeps_checkpoints(manifest: Manifest) -> Iterator[Problem]:
    if Node(manifest).get("metadata", "labels", PURPOSE) != "training":
        return
    if not any(True for pod in pod_templates(manifest) for _ in checkpoint_volumes(pod)):
        yield Problem(
            "a training run mounts no checkpoint volume, so a failure would lose all of it",
            "mount a claim at /checkpoints, or label the run as an experiment with a time limit",
        )
