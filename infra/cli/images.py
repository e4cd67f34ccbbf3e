"""`trainyard images`: what runs in the pods."""

import typer

from infra.bootstrap.host import LocalHost
from infra.bootstrap.plan import embedded_plan
from infra.bootstrap.progress import Progress
from infra.cli.options import StackOption
from infra.images import build as images
from infra.settings.stack import load_stack

app = typer.Typer(
    help="Container images: built from this checkout, named by their content.", no_args_is_help=True
)


@app.callback()
def group() -> None:
    """Container images: built from this checkout, named by their content."""


@app.command()
def build(
    stack: StackOption = "local",
    base: str = typer.Option(
        "",
        metavar="IMAGE@sha256:...",
        help="An official Python 3.11 image to build on, instead of the stack's `base_image`, if any, or a "
        "Debian root made here. Runs use what the stack declares.",
    ),
    install_packages: bool = typer.Option(
        False, "--install-packages", help="Install missing Debian packages first (apt-get)."
    ),
) -> None:
    """Build what is missing or changed and bring it into the embedded cluster's store. Needs root.

    A change of the trainer's code costs seconds; a change of its dependencies minutes; no change nothing.
    """
    progress = Progress()
    base = base or load_stack(stack).sites[0].base_image or ""
    built = images.build(
        LocalHost(), embedded_plan(), base=base, install_packages=install_packages, progress=progress
    )
    progress.say(f"{len(built.new)} built, {len(built.digests)} in the store")
    for reference, digest in built.digests.items():
        typer.echo(f"{reference}  {digest}")
