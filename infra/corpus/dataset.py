"""The data set made of the corpus: prepared by the trainer's own code, proved whole, kept in the vault."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra import paths
from infra.corpus.build import Corpus, build_corpus, corpus_key
from infra.corpus.packages import Progress
from infra.corpus.sources import DATASET, SOURCES, VOCAB_SIZE
from infra.errors import InvalidInput, TrainyardError

NEEDED_MODULES = ("numpy", "tokenizers")
REBUILD = "trainyard data push --replace builds it again; its version may change, and runs name a version"


@dataclass(frozen=True)
class Dataset:
    """A whole data set in the vault."""

    name: str
    directory: Path
    manifest: dict[str, Any]

    @property
    def version(self) -> str:
        return str(self.manifest["version"])

    @property
    def is_current(self) -> bool:
        """Whether it was made of the corpus as it is declared now."""
        return self.name != DATASET or self.manifest["lineage"].get("corpus") == corpus_key(SOURCES)

    def describe(self) -> str:
        """One line with its counts."""
        train, validation = self.manifest["splits"]["train"], self.manifest["splits"]["validation"]
        num_shards = len(train["shards"]) + len(validation["shards"])
        return (
            f"{self.name} version {self.version}: {self.manifest['num_documents']:,} documents, "
            f"{train['num_tokens']:,} training and {validation['num_tokens']:,} validation "
            f"tokens of a vocabulary of {self.manifest['vocab_size']:,}, {num_shards} shards"
        )


class _TrainerFailed(Exception):
    """What the trainer said last."""


def dataset_dir(name: str) -> Path:
    """Where a data set lies in the local vault."""
    return paths.vault_dir() / "data" / name


def push_dataset(
    name: str, *, progress: Progress, vocab_size: int = VOCAB_SIZE, replace: bool = False
) -> Dataset:
    """Return the verified data set `name`, made of the corpus unless it is in the vault already.

    What is there is left alone, for runs refer to its version; `replace` builds it again. Raises
    TrainyardError when it cannot be made or is damaged.
    """
    if (dataset_dir(name) / "manifest.json").exists() and not replace:
        return verify_dataset(name)
    if name != DATASET:
        prepare = f"python -m trainer data prepare --input DIR --output {dataset_dir(name)} --name {name}"
        message = f"data set {name!r} is not in the vault, and Trainyard itself makes only {DATASET!r}"
        raise InvalidInput(message, next_step=prepare)
    _require_trainer()
    corpus = build_corpus(progress=progress)
    _prepare(name, corpus, vocab_size=vocab_size, progress=progress)
    make_readable(dataset_dir(name))
    return verify_dataset(name)


def verify_dataset(name: str) -> Dataset:
    """Prove the data set `name` whole, as the init step of a run does; raises TrainyardError if it is not."""
    directory = dataset_dir(name)
    if not (directory / "manifest.json").exists():
        raise TrainyardError(f"data set {name!r} is not in the vault", next_step="trainyard data push")
    _require_trainer()
    try:
        _trainer("verify", "--dataset", str(directory), progress=lambda line: None)
    except _TrainerFailed as error:
        raise TrainyardError(f"data set {name} is not whole: {error}", next_step=REBUILD) from error
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    return Dataset(name, directory, manifest)


def make_readable(directory: Path) -> None:
    """Let every user read the data set: pods run as a user of their own, and mount it read-only."""
    directory.chmod(0o755)
    for path in directory.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _prepare(name: str, corpus: Corpus, *, vocab_size: int, progress: Progress) -> None:
    progress(f"data set {name}: training a tokenizer, then writing shards")
    source = ("--input", str(corpus.directory), "--lineage", str(corpus.lineage_file))
    target = ("--output", str(dataset_dir(name)), "--name", name, "--vocab-size", str(vocab_size))
    try:
        _trainer("prepare", *source, *target, progress=progress)
    except _TrainerFailed as error:
        message = f"data set {name} could not be prepared: {error}"
        raise TrainyardError(message, next_step="mend that, then run this again") from error


def _require_trainer() -> None:
    missing = [name for name in NEEDED_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        message = f"the trainer's data tools need {' and '.join(missing)}"
        raise TrainyardError(message, next_step="make setup")


def _trainer(action: str, *options: str, progress: Progress) -> None:
    """Run `python -m trainer data`; its lines are shown as they come, its last one names what went wrong."""
    command = [sys.executable, "-m", "trainer", "data", action, *options]
    with subprocess.Popen(
        command, cwd=paths.REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        last = ""
        for line in process.stderr or ():
            last = line.strip() or last
            if not last.startswith("error: "):
                progress(f"  {last}")
    if process.returncode != 0:
        raise _TrainerFailed(last.removeprefix("error: "))
