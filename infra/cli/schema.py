"""`trainyard schema`: the stack file's JSON Schema, for editors."""

import json

import typer

from infra.settings.stack import StackSettings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of what stands under `trainyard:stack` in a stack file."""
    typer.echo(json.dumps(StackSettings.model_json_schema(), indent=2))
