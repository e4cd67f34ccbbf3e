"""`trainyard cluster`: the embedded single-machine cluster."""

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.bootstrap import health, lifecycle
from infra.bootstrap.host import LocalHost
from infra.bootstrap.plan import embedded_plan
from infra.bootstrap.progress import Progress
from infra.cli.local_stack import forget_local_stack
from infra.errors import TrainyardError

app = typer.Typer(
    help="The embedded cluster: a real Kubernetes on this machine, for the local stack.", no_args_is_help=True
)


@app.command()
def up(
    install_packages: bool = typer.Option(
        False, "--install-packages", help="Install missing Debian packages first (apt-get)."
    ),
) -> None:
    """Start the cluster; does nothing where it runs, and repairs it after a reboot or a crash. Needs root."""
    plan, progress = embedded_plan(), Progress()
    fresh = not plan.directories.initialised.exists()
    lifecycle.up(LocalHost(), plan, progress=progress, install_packages=install_packages)
    if fresh:
        forget_local_stack(progress=progress)


@app.command()
def status() -> None:
    """Show each part of the cluster; exit code 1 unless all of them work."""
    parts = health.parts(LocalHost(), embedded_plan())
    table = Table(box=None)
    for title in ("part", "state", "detail"):
        table.add_column(title)
    for part in parts:
        state = Text("ok", style="green") if part.healthy else Text("down", style="red")
        table.add_row(Text(part.name), state, Text(part.detail))
    Console().print(table)
    if not all(part.healthy for part in parts):
        raise typer.Exit(1)


@app.command()
def down() -> None:
    """Remove the cluster and everything that it made on this machine, except the vault and the image store.

    Pods are ended, not drained: stop or finish runs first. The last line counts what is left.
    """
    progress = Progress()
    left = lifecycle.down(LocalHost(), embedded_plan(), progress=progress)
    progress.say(left.summary())
    if not left.empty:
        raise TrainyardError("something of the cluster is left", next_step="run trainyard cluster down again")
    forget_local_stack(progress=progress)
