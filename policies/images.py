"""Images are named by content, so that the same plan always runs the same code (R3.9, R4.8)."""

import re
from collections.abc import Iterator
from typing import Final

from policies.pods import PodTemplate
from policies.problems import Problem, in_each_pod, report
from policies.reading import Manifest, Node

CONTROL: Final = "Trainyard images, R3.9"
PINNED: Final = re.compile(r"[a-z0-9][^@\s]*@sha256:[0-9a-f]{64}")
CONTENT_TAG: Final = re.compile(r"localhost/trainyard/[a-z0-9][a-z0-9._/-]*:[0-9a-f]{12,64}")
FROM_PINNED_SOURCE: Final = re.compile(r"localhost/trainyard/(kueue|jobset):v\d+\.\d+\.\d+")
NEXT_STEP: Final = "pin it as name@sha256:<digest>, or use what `trainyard images build` made"


def validate(manifest: Manifest) -> list[str]:
    """Violations of every image that the manifest's pods run or mount."""
    problems = in_each_pod(manifest, pod_rules=[_mounted_images], container_rules=[_container_image])
    return report(manifest, problems, control=CONTROL)


def _container_image(_: PodTemplate, container: Node) -> Iterator[Problem]:
    yield from _image(container.at("image"))


def _mounted_images(pod: PodTemplate) -> Iterator[Problem]:
    for volume in pod.spec.items("volumes"):
        if volume.get("image") is not None:
            yield from _image(volume.at("image", "reference"))


def _image(node: Node) -> Iterator[Problem]:
    reference = node.known()
    if not isinstance(reference, str) or not reference:
        yield Problem("names no image", NEXT_STEP)
    elif not any(form.fullmatch(reference) for form in (PINNED, CONTENT_TAG, FROM_PINNED_SOURCE)):
        yield Problem(f"image {reference!r} {_why(reference)}", NEXT_STEP)


def _why(reference: str) -> str:
    if "@" in reference:
        return "has a malformed digest"
    tag = reference.rpartition("/")[2].partition(":")[2]
    return f"has the tag {tag!r}, whose content can change" if tag else "has no tag, which means latest"
