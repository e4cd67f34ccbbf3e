"""Where a pod writes checkpoints: by the name of the volume, or by the place where it is mounted."""

import posixpath
from collections.abc import Iterator
from typing import Final

from policies.pods import CONTAINER_LISTS, PodTemplate
from policies.reading import Node

VOLUME: Final = "checkpoints"
MOUNT_PATH: Final = "/checkpoints"


def checkpoint_volumes(pod: PodTemplate) -> Iterator[tuple[str, Node]]:
    """Name and definition of each volume that takes checkpoints; empty where the pod defines none."""
    names = {str(mount.get("name")): None for mount in _mounts(pod) if _takes_checkpoints(mount)}
    defined = {str(volume.get("name")): volume for volume in pod.spec.items("volumes")} if names else {}
    for name in names:
        yield name, defined.get(name, Node(None, f"volume {name}"))


def claim_name(volume: Node) -> str | None:
    """The persistent claim behind a pod's volume."""
    name = volume.get("persistentVolumeClaim", "claimName")
    return name if isinstance(name, str) else None


def _mounts(pod: PodTemplate) -> Iterator[Node]:
    for field in CONTAINER_LISTS:
        for container in pod.spec.items(field):
            yield from container.items("volumeMounts")


def _takes_checkpoints(mount: Node) -> bool:
    path = posixpath.normpath("/" + str(mount.get("mountPath")).lstrip("/"))
    return mount.get("name") == VOLUME or path == MOUNT_PATH or path.startswith(f"{MOUNT_PATH}/")
