"""The manifest of a data set directory: what its files are, and the version that names its content.

A shard is a run of little-endian uint16 token ids. A row is one document, ended by the end-of-text token.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer.errors import DataError

FILE_NAME = "manifest.json"
TOKENIZER_FILE = "tokenizer.json"
TOKEN_FORMAT: Literal["uint16-tokens"] = "uint16-tokens"
TOKEN_BYTES = 2
MAX_VOCAB_SIZE = 2**16
VERSION_DIGITS = 16

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Amount = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Tokenizer(_Part):
    """The tokenizer file, and the token that ends a document."""

    file: FileName
    sha256: Sha256
    end_of_text: str
    end_of_text_id: Amount


class Shard(_Part):
    """One file of tokens."""

    file: FileName
    sha256: Sha256
    num_tokens: Amount
    num_bytes: Amount
    num_rows: Amount


class Split(_Part):
    """The shards of one split, in reading order."""

    shards: Annotated[tuple[Shard, ...], Field(strict=False)]
    num_tokens: Amount
    num_documents: Amount


class Splits(_Part):
    """What is learned from, and what is held out."""

    train: Split
    validation: Split

    def shards(self) -> tuple[Shard, ...]:
        return self.train.shards + self.validation.shards


class Manifest(_Part):
    """A whole data set."""

    schema_version: Literal[1]
    name: str
    version: Annotated[str, Field(pattern=r"^[0-9a-f]{12,64}$")]
    format: str
    vocab_size: Annotated[int, Field(gt=0, le=MAX_VOCAB_SIZE)]
    num_documents: Amount
    num_tokens: Amount
    tokenizer: Tokenizer
    splits: Splits
    lineage: dict[str, Any]


def version_of(shards: tuple[Shard, ...], tokenizer_sha256: str) -> str:
    """Name a data set by its content: the same shards and tokenizer always give the same version."""
    digest = hashlib.sha256(tokenizer_sha256.encode())
    for shard in shards:
        digest.update(f"{shard.file} {shard.sha256}\n".encode())
    return digest.hexdigest()[:VERSION_DIGITS]


def read(directory: Path) -> Manifest:
    """Read a data set's manifest; raises DataError when it is missing, malformed or contradicts itself."""
    path = directory / FILE_NAME
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "content"
        raise DataError(f"{path}: {where}: {first['msg']}") from error
    if manifest.format != TOKEN_FORMAT:
        raise DataError(f"{path}: format: {manifest.format!r} is not supported, expected {TOKEN_FORMAT!r}")
    if manifest.version != version_of(manifest.splits.shards(), manifest.tokenizer.sha256):
        raise DataError(f"{path}: version: {manifest.version} does not name the listed content")
    return manifest


def require_version(manifest: Manifest, version: str | None, *, directory: Path) -> None:
    """Raise DataError unless the data set is the one a run was declared with; its first digits are enough."""
    if version is not None and not manifest.version.startswith(version):
        raise DataError(
            f"{directory}: holds version {manifest.version}, but the run was declared with {version}. "
            f"Resubmit the run, or restore that version of the data set"
        )
