"""Token shards: written one after another, read as one long memory-mapped sequence."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainer.data.manifest import TOKEN_BYTES, Shard, Split
from trainer.errors import DataError

TOKEN_DTYPE = np.dtype("<u2")


class ShardWriter:
    """Writes the documents of a split to `<split>-00000.bin`, ...; a document never crosses shards."""

    def __init__(self, directory: Path, *, split: str, shard_tokens: int) -> None:
        self._directory = directory
        self._split = split
        self._shard_tokens = shard_tokens
        self._pending: list[NDArray[np.uint16]] = []
        self._num_pending_tokens = 0
        self._shards: list[Shard] = []

    def append(self, tokens: NDArray[np.uint16]) -> None:
        """Add one document, its end-of-text token included."""
        self._pending.append(tokens)
        self._num_pending_tokens += len(tokens)
        if self._num_pending_tokens >= self._shard_tokens:
            self._flush()

    def finish(self) -> Split:
        """Write what is left; returns the description of all that was written."""
        if self._pending:
            self._flush()
        return Split(
            shards=tuple(self._shards),
            num_tokens=sum(shard.num_tokens for shard in self._shards),
            num_documents=sum(shard.num_rows for shard in self._shards),
        )

    def _flush(self) -> None:
        content = np.concatenate(self._pending).astype(TOKEN_DTYPE).tobytes()
        name = f"{self._split}-{len(self._shards):05d}.bin"
        (self._directory / name).write_bytes(content)
        shard = Shard(
            file=name,
            sha256=hashlib.sha256(content).hexdigest(),
            num_tokens=self._num_pending_tokens,
            num_bytes=len(content),
            num_rows=len(self._pending),
        )
        self._shards.append(shard)
        self._pending, self._num_pending_tokens = [], 0


class TokenSequence:
    """The shards of a split as one sequence of tokens, memory-mapped."""

    def __init__(self, directory: Path, split: Split) -> None:
        self._shards = [shard for shard in split.shards if shard.num_tokens]
        self._maps = [_map_shard(directory / shard.file, shard) for shard in self._shards]
        self._ends = np.cumsum([shard.num_tokens for shard in self._shards], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, start: int, count: int) -> NDArray[np.uint16]:
        """Copy `count` tokens from `start` on; they may lie in several shards."""
        pieces = []
        index = int(np.searchsorted(self._ends, start, side="right"))
        while count > 0:
            offset = start - (int(self._ends[index - 1]) if index else 0)
            piece = self._maps[index][offset : offset + count]
            pieces.append(piece)
            start, count, index = start + len(piece), count - len(piece), index + 1
        return np.concatenate(pieces)

    def pieces(self) -> Iterator[NDArray[np.uint16]]:
        """The shards, one after another."""
        yield from self._maps

    def describe(self, start: int, count: int, *, end_of_text: int) -> str:
        """Name the file and rows that hold tokens `start` to `start + count`: for error messages."""
        index = int(np.searchsorted(self._ends, start, side="right"))
        offset = start - (int(self._ends[index - 1]) if index else 0)
        first = int(np.count_nonzero(self._maps[index][:offset] == end_of_text))
        inside = int(np.count_nonzero(self._maps[index][offset : offset + count - 1] == end_of_text))
        rows = f"row {first}" if not inside else f"rows {first}-{first + inside}"
        return f"{self._shards[index].file} {rows}"


def _map_shard(path: Path, shard: Shard) -> NDArray[np.uint16]:
    try:
        num_bytes = path.stat().st_size
        if num_bytes != shard.num_bytes or num_bytes != shard.num_tokens * TOKEN_BYTES:
            raise DataError(f"{path}: has {num_bytes} bytes, the manifest says {shard.num_bytes}")
        return np.memmap(path, dtype=TOKEN_DTYPE, mode="r")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
