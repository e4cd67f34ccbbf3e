"""The trainer's image: base, dependencies, code, put together as its Containerfile says."""

import json
import shutil
from pathlib import Path

from infra.bootstrap.host import Host
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError
from infra.images import base as base_image
from infra.images import containerfile, packages, tags, tar
from infra.images.archive import Image, Layer, assemble, write_layer
from infra.images.workspace import Workspace, compile_python


def assemble_trainer(host: Host, space: Workspace, *, base: str, progress: Progress) -> Image:
    """Build the image and keep it in the layout; layers that are known already are not written again."""
    reference = tags.trainer_image(base=base)
    recipe = containerfile.parse((space.checkout / "images" / "trainer" / "Containerfile").read_text())
    lower = base_image.ensure(host, space, base=base, progress=progress)
    layers = [
        _packages_layer(host, space, target=copy.target, base=base, lower=lower, progress=progress)
        if copy.source == "packages"
        else _code_layer(host, space, target=copy.target, lower=lower, progress=progress)
        for copy in recipe.copies
    ]
    if tags.trainer_image(base=base) != reference:
        raise TrainyardError(
            "the trainer's files changed while its image was built", next_step="run the command again"
        )
    image = assemble(reference, layers=[*lower.layers, *layers], config=recipe.config(_config(lower)))
    space.layout.add(image)
    return image


def _packages_layer(
    host: Host, space: Workspace, *, target: str, base: str, lower: Image, progress: Progress
) -> Layer:
    tag = tags.packages_tag(base=base)
    return packages.ensure(
        host, space, tag=tag, base_reference=lower.reference, target=target, progress=progress
    )


def _code_layer(host: Host, space: Workspace, *, target: str, lower: Image, progress: Progress) -> Layer:
    progress.say("trainer: compiling the code")
    staged = space.work / "trainer"
    host.remove(staged)
    for path in tags.sources(space.checkout):
        destination = space.work / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(space.checkout / path, destination)
    compile_python(host, space, image=lower.reference, directory=staged)
    layer = write_layer(tar.tree(staged, target=target), directory=space.layout.blobs)
    host.remove(staged)
    return layer


def _config(image: Image) -> dict[str, object]:
    source = image.config.source
    document = json.loads(source if isinstance(source, bytes) else Path(source).read_text())
    return dict(document.get("config") or {})
