"""`trainyard data`: the data sets that runs train on."""

from typing import Annotated

import typer

from infra.cli.options import StackOption
from infra.corpus.dataset import REBUILD, Dataset, push_dataset, verify_dataset
from infra.corpus.sources import VOCAB_SIZE
from infra.errors import InvalidInput, TrainyardError
from infra.settings.stack import load_stack

app = typer.Typer(help="Data sets: real text, tokenized, with checksums, in the vault.", no_args_is_help=True)

DatasetOption = Annotated[
    str | None,
    typer.Option("--dataset", metavar="NAME", help="One data set instead of all that the stack declares."),
]
VocabSizeOption = Annotated[int, typer.Option(help="Tokens in the vocabulary of a data set that is made.")]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Build it again, though it is in the vault already.")
]


@app.command()
def push(
    stack: StackOption = "local",
    dataset: DatasetOption = None,
    vocab_size: VocabSizeOption = VOCAB_SIZE,
    replace: ReplaceOption = False,
) -> None:
    """Put the stack's data sets into the vault; does nothing for those that are there.

    The text comes from Debian's documentation packages, by the machine's own apt; nothing is installed. It is
    cleaned, deduplicated, tokenized and verified. A first time takes a few minutes.
    """
    for name, version in _declared(stack, dataset):
        pushed = push_dataset(name, progress=_say, vocab_size=vocab_size, replace=replace)
        _require_version(pushed, version, stack=stack)
        typer.echo(f"in the vault: {pushed.describe()}")
        if not pushed.is_current:
            _say(f"note: {name} was made of the text as it was declared earlier; {REBUILD}")


@app.command()
def verify(stack: StackOption = "local", dataset: DatasetOption = None) -> None:
    """Prove data sets in the vault whole: file count, sizes, rows, checksums and format."""
    for name, version in _declared(stack, dataset):
        verified = verify_dataset(name)
        _require_version(verified, version, stack=stack)
        typer.echo(f"whole: {verified.describe()}")


def _declared(stack: str, dataset: str | None) -> list[tuple[str, str | None]]:
    declared = {item.name: item.version for item in load_stack(stack).datasets}
    if dataset is None:
        return list(declared.items())
    if dataset not in declared:
        known = ", ".join(declared) or "none"
        raise InvalidInput(
            f"data set {dataset!r} is not declared in stack {stack!r} (declared: {known})",
            next_step="name one of these, or declare it in the stack file",
        )
    return [(dataset, declared[dataset])]


def _require_version(dataset: Dataset, version: str | None, *, stack: str) -> None:
    if version is not None and not dataset.version.startswith(version):
        raise TrainyardError(
            f"data set {dataset.name}: {stack!r} pins version {version}, in the vault is {dataset.version}",
            next_step="restore that version of the data set, or change the pin in the stack file",
        )


def _say(line: str) -> None:
    typer.echo(line, err=True)
