"""The image layout on disk (OCI image specification, image-layout): every built image's blobs, by digest."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.images.archive import LAYOUT_MARK, Blob, Image, Layer, index

SHARED_FROM_BYTES = 1 << 20


class Layout:
    """Blobs below `root`, readable by any tool that knows image layouts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs" / "sha256"

    def prepare(self) -> None:
        """Make the directories and the mark of a layout."""
        self.blobs.mkdir(parents=True, exist_ok=True)
        (self.root / "oci-layout").write_bytes(LAYOUT_MARK)

    def image(self, reference: str) -> Image | None:
        """An image that was added, or pushed here by another tool; None where a blob of it is missing."""
        for entry in self._entries():
            if reference in entry.get("annotations", {}).values():
                return self._read(reference, entry["digest"])
        return None

    def add(self, image: Image) -> None:
        """Keep an image: its small blobs are written, its layers must lie here already."""
        for blob in (image.manifest, image.config):
            if isinstance(blob.source, bytes):
                self.file(blob.digest).write_bytes(blob.source)
        others = [one for one in self.images() if one.reference != image.reference]
        self._write_index([*others, image])

    def images(self) -> list[Image]:
        """All images that are whole, oldest first."""
        named = [(entry.get("annotations", {}), entry["digest"]) for entry in self._entries()]
        found = (self._read(next(iter(names.values()), ""), digest) for names, digest in named)
        return [image for image in found if image is not None]

    def file(self, digest: str) -> Path:
        """Where a blob lies."""
        return self.blobs / digest.removeprefix("sha256:")

    def layer(self, digest: str) -> Layer | None:
        """A plain layer that was written here, if it still is."""
        path = self.file(digest)
        return Layer(Blob(digest, path.stat().st_size, path), digest) if path.is_file() else None

    def keep_only(self, references: Sequence[str], *, layers: Sequence[str] = ()) -> int:
        """Forget all other images, delete the blobs that nobody needs; returns the bytes that were freed."""
        if not self.blobs.exists():
            return 0
        kept = [image for image in self.images() if image.reference in references]
        needed = {blob.digest for image in kept for blob in image.blobs} | set(layers)
        self._write_index(kept)
        freed = 0
        for path in self.blobs.iterdir():
            if f"sha256:{path.name}" not in needed:
                freed += path.stat().st_size
                path.unlink()
        return freed

    def share_with(self, store: Path) -> None:
        """Let large blobs that a content store holds too be one file on disk, by hard links if possible."""
        for path in self.blobs.iterdir():
            twin = store / path.name
            if path.stat().st_size >= SHARED_FROM_BYTES and _is_copy(path, twin):
                linked = path.with_suffix(".linked")
                try:
                    os.link(twin, linked)
                except OSError:
                    return
                linked.replace(path)

    def _entries(self) -> list[dict[str, Any]]:
        path = self.root / "index.json"
        return list(json.loads(path.read_text())["manifests"]) if path.exists() else []

    def _write_index(self, images: Sequence[Image]) -> None:
        staged = self.root / "index.json.new"
        staged.write_text(json.dumps(index(images), indent=2))
        staged.replace(self.root / "index.json")

    def _read(self, reference: str, digest: str) -> Image | None:
        if not self.file(digest).exists():
            return None
        manifest = json.loads(self.file(digest).read_text())
        digests = [manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])]
        if not all(self.file(one).exists() for one in digests):
            return None
        config = json.loads(self.file(digests[0]).read_text())
        diff_ids = config["rootfs"]["diff_ids"]
        layers = [self._layer(*pair) for pair in zip(manifest["layers"], diff_ids, strict=True)]
        return Image(reference, self._blob(digest), self._blob(digests[0]), tuple(layers))

    def _layer(self, described: Mapping[str, Any], diff_id: str) -> Layer:
        return Layer(self._blob(described["digest"]), diff_id, described["mediaType"])

    def _blob(self, digest: str) -> Blob:
        path = self.file(digest)
        return Blob(digest, path.stat().st_size, path)


def _is_copy(path: Path, twin: Path) -> bool:
    return twin.exists() and not twin.samefile(path) and twin.stat().st_size == path.stat().st_size
