"""`trainyard`: the operator's command; one module a command."""

import sys

import typer
from rich.console import Console
from rich.text import Text

from infra.cli import cluster, data, doctor, env, images, preview, render, runs, schema, teardown, verify
from infra.errors import TrainyardError

app = typer.Typer(
    help="Turn one stack file into an environment that trains language models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (doctor, env, schema, render, preview, runs, teardown):
    module.register(app)
app.add_typer(cluster.app, name="cluster")
app.add_typer(images.app, name="images")
app.add_typer(data.app, name="data")
app.add_typer(verify.app, name="verify")


def main() -> None:
    """Run the command; an error that a user can act on is printed without a traceback."""
    try:
        app()
    except TrainyardError as error:
        Console(stderr=True).print(Text(f"error: {error}", style="red"))
        sys.exit(error.exit_code)
