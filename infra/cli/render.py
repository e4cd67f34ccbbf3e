"""`trainyard render`: the manifests of a stack's runs, with no cluster and no state."""

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.options import StackOption
from infra.images.tags import trainer_image
from infra.runs.dialects import read_run_file
from infra.runs.render import render_run, to_yaml
from infra.runs.resolve import resolve
from infra.settings.stack import load_stack

RunFile = Annotated[
    Path | None,
    typer.Option("--run", help="A run file to render in this stack, instead of the stack's own runs."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("render")(render)


def render(stack: StackOption = "local", run_file: RunFile = None) -> None:
    """Print the Kubernetes manifests that `up` would create for the runs; contacts and changes nothing."""
    image = trainer_image(base=load_stack(stack).sites[0].base_image or "")
    typer.echo(manifests(stack, run_file=run_file, image=image), nl=False)


def manifests(stack: str, *, run_file: Path | None = None, image: str) -> str:
    """The YAML stream of the stack's runs, or of one run file in its context."""
    settings = load_stack(stack)
    specs = [read_run_file(run_file)] if run_file else list(settings.runs)
    problem = settings.why_not(specs[0]) if run_file else None
    if problem:
        typer.echo(f"warning: stack {stack} could not start this run: {problem}", err=True)
    documents = []
    for spec in specs:
        documents += render_run(resolve(spec, stack=stack, settings=settings, trainer_image=image))
    return to_yaml(documents)
