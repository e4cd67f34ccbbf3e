"""`trainyard images build`: from recipes and sources to images in the cluster's store."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from infra.bootstrap import ownership, preflight, runtime
from infra.bootstrap import packages as debian
from infra.bootstrap.host import AGAIN, Host
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError, system_errors
from infra.images import packages, store, tags
from infra.images.archive import Program
from infra.images.trainer import assemble_trainer
from infra.images.workspace import Workspace, check_pinned
from toolchain import tools

KEPT_TRAINERS = 3
MINIMUM_DISK_GIB = 20
CONTROLLER_USER = "65532:65532"


@dataclass(frozen=True)
class Built:
    """What a build did: references of new images, and digests of all."""

    new: tuple[str, ...]
    digests: dict[str, str]


def build(
    host: Host, plan: Plan, *, base: str = "", install_packages: bool = False, progress: Progress
) -> Built:
    """Build what is missing of trainer and controllers and bring it into the cluster's store; needs root.

    Raises InvalidInput for a base without digest, TrainyardError for missing packages, tools or room.
    """
    check_pinned(base)
    preflight.require_root()
    space = Workspace(plan.directories.images)
    with system_errors(next_step=AGAIN), ownership.exclusive(progress):
        ownership.check(host, plan)
        _ensure_packages(host, debian.RUNTIME, install_packages=install_packages, progress=progress)
        with runtime.running(host, plan):
            new = _controllers(host, plan, progress=progress)
            new += _trainer(
                host, plan, space, base=base, install_packages=install_packages, progress=progress
            )
            host.remove(space.run)
            if new:
                prune(host, plan, space, newest=tags.trainer_image(base=base))
            digests = store.digests(host, plan, prefix=tags.PREFIX)
        space.root.mkdir(parents=True, exist_ok=True)
        space.lock.write_text(json.dumps(digests, indent=2, sort_keys=True))
    return Built(tuple(new), digests)


def prune(host: Host, plan: Plan, space: Workspace, *, newest: str) -> list[str]:
    """Remove trainer images beyond the newest few from store and layout; those of containers stay."""
    trainers = [
        image.reference
        for image in space.layout.images()
        if image.reference.startswith(f"{tags.PREFIX}/trainer:")
    ]
    ordered = [*(one for one in trainers if one != newest), newest]
    old = [one for one in ordered[:-KEPT_TRAINERS] if one not in store.in_use(host, plan)]
    store.remove(host, plan, old)
    kept = [image.reference for image in space.layout.images() if image.reference not in old]
    space.layout.keep_only(kept)
    return old


def _controllers(host: Host, plan: Plan, *, progress: Progress) -> list[str]:
    wanted = [
        Program(reference, {"/manager": tools.find(name)}, ("/manager",), CONTROLLER_USER)
        for name, reference in (("kueue", tags.kueue_image()), ("jobset", tags.jobset_image()))
    ]
    new = store.ensure_programs(host, plan, wanted)
    for reference in new:
        progress.say(f"imported {reference}")
    return new


def _trainer(
    host: Host, plan: Plan, space: Workspace, *, base: str, install_packages: bool, progress: Progress
) -> list[str]:
    reference = tags.trainer_image(base=base)
    if reference in runtime.image_names(host, plan):
        return []
    _ensure_packages(host, debian.IMAGES, install_packages=install_packages, progress=progress)
    _check_room(host, space, base=base)
    space.layout.prepare()
    image = space.layout.image(reference) or assemble_trainer(host, space, base=base, progress=progress)
    progress.say(f"importing {reference}")
    store.import_images(host, plan, [image])
    space.layout.share_with(store.content_directory(plan))
    return [reference]


def _ensure_packages(
    host: Host, wanted: Sequence[debian.Package], *, install_packages: bool, progress: Progress
) -> None:
    missing = debian.missing(host, wanted)
    if missing and install_packages:
        debian.install(host, missing, progress=progress)
    elif missing:
        raise TrainyardError(
            f"building images needs {' and '.join(missing)}",
            next_step=f"{debian.install_line(missing)} (or use --install-packages)",
        )


def _check_room(host: Host, space: Workspace, *, base: str) -> None:
    free = preflight.free_bytes(host, space.root)
    if (
        not packages.known(space).get(tags.packages_tag(base=base))
        and free < MINIMUM_DISK_GIB * preflight.GIB
    ):
        raise TrainyardError(
            f"{space.root} has {free / preflight.GIB:.0f} GiB free, a build needs {MINIMUM_DISK_GIB} GiB",
            next_step="free some room, or set TRAINYARD_STORE to a directory on a larger disk",
        )
