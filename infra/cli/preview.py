"""`trainyard preview`: a stack's plan, the verdict of the policies, and whether anything would change."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from infra import paths
from infra.cli.env import environment
from infra.cli.options import StackOption
from infra.errors import TrainyardError
from infra.settings.stack import load_stack
from toolchain import tools

UNCHANGED = ("same", "read", "refresh")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("preview")(preview)


def preview(
    stack: StackOption = "local",
    diff: Annotated[bool, typer.Option("--diff", help="Show each changed property.")] = False,
) -> None:
    """Show what `up` would change, judged by the policy pack; changes nothing."""
    load_stack(stack)
    with tempfile.TemporaryDirectory() as scratch:
        events = Path(scratch) / "events.jsonl"
        command = [
            str(tools.find("pulumi")),
            "preview",
            "--stack",
            stack,
            "--policy-pack",
            str(paths.REPOSITORY / "policies"),
        ]
        command += ["--non-interactive", "--event-log", str(events), *(["--diff"] if diff else [])]
        # The engine's event log is one of the flags that Pulumi shows to debuggers only.
        variables = environment() | {"PULUMI_DEBUG_COMMANDS": "true"}
        done = subprocess.run(command, cwd=paths.REPOSITORY, env=variables, check=False)
        if done.returncode:
            raise TrainyardError(
                f"the preview of {stack} failed (see above)",
                next_step="correct it and preview again; `trainyard doctor` lists missing tools",
            )
        changes = count_changes(events.read_text(encoding="utf-8"))
    typer.echo(
        f"{sum(changes.values())} changes"
        + "".join(f", {count} to {kind}" for kind, count in changes.items())
    )


def count_changes(event_log: str) -> dict[str, int]:
    """How many resources a preview would create, update, replace or delete, from the engine's event log."""
    for line in event_log.splitlines():
        event: dict[str, Any] = json.loads(line)
        if "summaryEvent" in event:
            planned = event["summaryEvent"]["resourceChanges"]
            return {kind: count for kind, count in planned.items() if kind not in UNCHANGED}
    raise TrainyardError("the preview ended without a summary", next_step="run it again with --diff")
