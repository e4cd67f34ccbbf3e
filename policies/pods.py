"""Where the pods are: every pod template of a manifest, whatever its kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from policies.reading import Manifest, Node, Unjudged, Unknown

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
SYSTEM_NAMESPACES: Final = ("kueue-system", "jobset-system")

EACH: Final = "*"
_TEMPLATE: Final = ("spec", "template")
_TEMPLATE_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "Deployment": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "Job": _TEMPLATE,
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    "JobSet": ("spec", "replicatedJobs", EACH, "template", *_TEMPLATE),
}
_POD_KEYS: Final = ("spec", "template", "podTemplate", "podSpec", *CONTAINER_LISTS)


@dataclass(frozen=True)
class PodTemplate:
    """A pod's metadata and specification; `label` tells templates of one resource apart."""

    label: str
    metadata: Node
    spec: Node


def pod_templates(manifest: Manifest) -> Iterator[PodTemplate]:
    """Every pod template of the manifest.

    Kinds that are not listed here are searched for anything shaped like a pod. Raises `Unjudged` where an
    unknown value may hide a pod, and where a workload has none.
    """
    path = _TEMPLATE_PATHS.get(str(manifest.get("kind")))
    if path is None:
        yield from _search(Node(manifest))
        return
    found = 0
    for node, label in expand(Node(manifest), path):
        found += 1
        yield PodTemplate(label, node.at("metadata"), node.at("spec"))
    if not found:
        raise Unjudged(f"{'.'.join(path)} names no pod", next_step="declare the pods in the manifest")


def expand(node: Node, path: tuple[str, ...], label: str = "") -> Iterator[tuple[Node, str]]:
    """The nodes at a path, each with its label; `EACH` in the path stands for every element of a list."""
    if not path:
        yield node, label
    elif path[0] != EACH:
        yield from expand(node.at(path[0]), path[1:], label)
    else:
        for element in node.items():
            name = element.get("name")
            yield from expand(element, path[1:], f"{element.path} {name!r}" if name else element.path)


def _search(node: Node) -> Iterator[PodTemplate]:
    value = node.value
    if isinstance(value, Unknown):
        if node.path.rpartition(".")[2] in _POD_KEYS:
            node.known()
    elif isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            yield PodTemplate(node.path, Node(None, "metadata"), node)
            return
        for key in value:
            yield from _search(node.at(str(key)))
    elif isinstance(value, list):
        for element in node.items():
            yield from _search(element)
