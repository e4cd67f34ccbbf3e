"""OCI images written directly: layers from files on disk, and archives that containerd imports.

Format: OCI image specification (image layout, manifest, config). A written layer is plain tar: its digest is
also its diff id, and a store that has it is known by the digest alone. Times are zero, entries sorted: equal
content has equal digests on every machine.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from infra.images import tar

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LAYOUT_MARK = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()


@dataclass(frozen=True)
class Blob:
    """Content named by its digest: a file on disk, or small bytes held here."""

    digest: str
    size_bytes: int
    source: Path | bytes

    @property
    def path(self) -> str:
        """Where an image layout keeps it."""
        return f"blobs/{self.digest.replace(':', '/')}"


@dataclass(frozen=True)
class Layer:
    """A blob with files in it; `diff_id` is the digest of the uncompressed tar."""

    blob: Blob
    diff_id: str
    media_type: str = LAYER_TYPE


@dataclass(frozen=True)
class Image:
    """One image: full reference, manifest, configuration and layers from the lowest up."""

    reference: str
    manifest: Blob
    config: Blob
    layers: tuple[Layer, ...]

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """Everything that a store needs to hold this image."""
        return (self.manifest, self.config, *(layer.blob for layer in self.layers))


@dataclass(frozen=True)
class Program:
    """What an image from scratch runs: files (path in the image -> file here), entry point and user."""

    reference: str
    files: Mapping[str, Path]
    entrypoint: tuple[str, ...]
    user: str = "0:0"


def scratch_image(program: Program, *, directory: Path) -> Image:
    """Build an image of one layer that holds the program's files; the layer's file is left in `directory`."""
    layer = write_layer(tar.Content(files=program.files), directory=directory)
    config = {
        "Entrypoint": list(program.entrypoint),
        "User": program.user,
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "WorkingDir": "/",
    }
    return assemble(program.reference, layers=[layer], config=config)


def assemble(reference: str, *, layers: Sequence[Layer], config: Mapping[str, Any]) -> Image:
    """Join layers and a runtime configuration into an image for this machine's architecture."""
    document = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
    }
    config_blob = json_blob(document)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": descriptor(config_blob, CONFIG_TYPE),
        "layers": [descriptor(layer.blob, layer.media_type) for layer in layers],
    }
    return Image(reference, json_blob(manifest), config_blob, tuple(layers))


def write_layer(content: tar.Content, *, directory: Path) -> Layer:
    """Write files and links as one layer owned by root; the layer's file is named by its digest."""
    directory.mkdir(parents=True, exist_ok=True)
    staged = directory / "layer.partial"
    with staged.open("wb") as stream:
        sink = tar.Sink(stream, hashing=True)
        tar.write(sink, content)
    digest = sink.digest
    path = directory / digest.removeprefix("sha256:")
    staged.replace(path)
    return Layer(Blob(digest, path.stat().st_size, path), digest)


def archive_writer(
    images: Sequence[Image], *, present: frozenset[str] = frozenset()
) -> Callable[[IO[bytes]], None]:
    """A function that writes an OCI archive to a stream, without the blobs that are `present`."""

    def write(stream: IO[bytes]) -> None:
        blobs = {blob.digest: blob for image in images for blob in image.blobs if blob.digest not in present}
        with tar.opened(tar.Sink(stream)) as archive:
            tar.add_bytes(archive, "oci-layout", LAYOUT_MARK)
            tar.add_bytes(archive, "index.json", json.dumps(index(images)).encode())
            for blob in blobs.values():
                if isinstance(blob.source, bytes):
                    tar.add_bytes(archive, blob.path, blob.source)
                else:
                    tar.add_file(archive, blob.path, blob.source)

    return write


def index(images: Sequence[Image]) -> dict[str, Any]:
    """The index of an image layout; each image is named as containerd and as other tools read it."""
    manifests = []
    for image in images:
        names = dict.fromkeys(
            ("io.containerd.image.name", "org.opencontainers.image.ref.name"), image.reference
        )
        manifests.append(descriptor(image.manifest, MANIFEST_TYPE) | {"annotations": names})
    return {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests}


def json_blob(document: Mapping[str, Any]) -> Blob:
    """A document as a blob, in a stable order of keys."""
    data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    return Blob(f"sha256:{hashlib.sha256(data).hexdigest()}", len(data), data)


def descriptor(blob: Blob, media_type: str) -> dict[str, Any]:
    """How a manifest or an index refers to a blob."""
    return {"mediaType": media_type, "digest": blob.digest, "size": blob.size_bytes}
