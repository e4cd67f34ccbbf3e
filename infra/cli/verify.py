"""`trainyard verify`: whether what was declared is what is there."""

import json
from dataclasses import asdict

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.bootstrap.plan import embedded_plan
from infra.cli.options import JsonOption, StackOption
from infra.errors import TrainyardError
from infra.settings.stack import load_stack
from infra.verify.session import Outcome, verify

app = typer.Typer(help="Compare what is there with what was declared.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Compare what is there with what was declared."""


@app.command()
def nodes(stack: StackOption = "local", as_json: JsonOption = False) -> None:
    """Check each node of the stack: runtime, versions, ports, network, volumes, disk, clock.

    Exit code 0 when every check passes, else 1.
    """
    load_stack(stack)
    plan = embedded_plan()
    if not plan.directories.kubeconfig.exists():
        raise TrainyardError(f"stack {stack}: its cluster is not up", next_step="trainyard cluster up")
    outcomes = verify(plan.node.name, transport="local://")
    if as_json:
        typer.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        show(outcomes)
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def show(outcomes: list[Outcome]) -> None:
    """Print one line a check, failures with what was found, and the count."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "check", "found"):
        table.add_column(name, overflow="fold")
    for outcome in outcomes:
        verdict = Text("ok", style="green") if outcome.passed else Text("FAILED", style="red")
        table.add_row(verdict, Text(outcome.title), Text(outcome.found))
    console = Console()
    console.print(table)
    passed = sum(outcome.passed for outcome in outcomes)
    console.print(Text(f"{outcomes[0].node}: {passed} of {len(outcomes)} checks passed"))
