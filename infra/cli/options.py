"""Options that several commands share."""

from typing import Annotated

import typer

StackOption = Annotated[str, typer.Option("-s", "--stack", help="The stack: stacks/Pulumi.<stack>.yaml.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
