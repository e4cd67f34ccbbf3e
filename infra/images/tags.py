"""Names of images from what they are made of; nothing is read but the checkout."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from infra import versions
from infra.paths import REPOSITORY

PREFIX = "localhost/trainyard"
TAG_LENGTH = 12
DEBIAN_RELEASE = "bookworm"
DEBIAN_PACKAGES = ("python3", "ca-certificates", "netbase")


def base_tag(*, base: str = "", checkout: Path = REPOSITORY) -> str:
    """Tag of the base image: an official one by digest, or a Debian root."""
    recipe = base or repr((DEBIAN_RELEASE, DEBIAN_PACKAGES))
    return _tag([("base", recipe.encode()), *_contents(checkout, [_containerfile("base")])])


def packages_tag(*, base: str = "", checkout: Path = REPOSITORY) -> str:
    """Identity of the layer with the dependencies: the lock, and the base that they are compiled on."""
    lock = Path("locks/trainer.txt")
    return _tag([("base", base_tag(base=base, checkout=checkout).encode()), *_contents(checkout, [lock])])


def trainer_tag(*, base: str = "", checkout: Path = REPOSITORY) -> str:
    """Tag of the trainer's image: base, dependencies, sources, and how they are put together."""
    files = [_containerfile("trainer"), *sources(checkout)]
    return _tag(
        [("packages", packages_tag(base=base, checkout=checkout).encode()), *_contents(checkout, files)]
    )


def base_image(*, base: str = "") -> str:
    """Reference of the base image."""
    return f"{PREFIX}/base:{base_tag(base=base)}"


def trainer_image(*, base: str = "") -> str:
    """Reference of the trainer's image, for the manifests of a run."""
    return f"{PREFIX}/trainer:{trainer_tag(base=base)}"


def kueue_image() -> str:
    """Reference of the queue controller's image."""
    return f"{PREFIX}/kueue:{versions.KUEUE}"


def jobset_image() -> str:
    """Reference of the job set controller's image."""
    return f"{PREFIX}/jobset:{versions.JOBSET}"


def sources(checkout: Path = REPOSITORY) -> list[Path]:
    """The trainer's files, relative to the checkout, without what Python leaves beside them."""
    found = (path.relative_to(checkout) for path in (checkout / "trainer").rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def _containerfile(name: str) -> Path:
    return Path("images") / name / "Containerfile"


def _contents(checkout: Path, files: Iterable[Path]) -> list[tuple[str, bytes]]:
    return [(path.as_posix(), (checkout / path).read_bytes()) for path in files]


def _tag(parts: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:TAG_LENGTH]
