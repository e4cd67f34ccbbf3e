"""`trainyard teardown`: ends an environment once its results are in the vault."""

import subprocess
from typing import Annotated

import typer

from infra import paths
from infra.cli.env import environment
from infra.cli.options import StackOption
from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.runs import archive, records
from infra.runs.follow import follow, print_line
from infra.runs.stop import stop_run
from infra.settings.stack import load_stack
from toolchain import tools


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("teardown")(teardown)


def teardown(
    stack: StackOption = "local",
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop running runs instead of waiting for their end.")
    ] = False,
) -> None:
    """Wait for the runs or stop them, record them in the vault, destroy the stack; the vault stays."""
    load_stack(stack)
    if paths.kubeconfig_path().exists():
        _end_runs(Cluster(paths.kubeconfig_path()), stack=stack, stop=stop)
    if not _stack_exists(stack):
        typer.echo(f"stack {stack} does not exist; nothing to destroy")
        return
    command = [
        str(tools.find("pulumi")),
        "destroy",
        "--stack",
        stack,
        "--yes",
        "--skip-preview",
        "--non-interactive",
    ]
    if subprocess.run(command, cwd=paths.REPOSITORY, env=environment(), check=False).returncode:
        raise TrainyardError(f"stack {stack} could not be destroyed (see above)", next_step="run it again")


def _end_runs(cluster: Cluster, *, stack: str, stop: bool) -> None:
    for jobset in archive.declared_runs(cluster, stack=stack):
        if stop:
            archive.archive_run(cluster, jobset, stack=stack)
            stop_run(cluster, jobset)
        else:
            follow(cluster, jobset)
        record = archive.archive_run(cluster, jobset, stack=stack)
        print_line(f"{record['run_id']}: {record['status']}; record: {records.record_dir(record['run_id'])}")


def _stack_exists(stack: str) -> bool:
    command = [str(tools.find("pulumi")), "stack", "--stack", stack, "--show-name", "--non-interactive"]
    done = subprocess.run(command, cwd=paths.REPOSITORY, env=environment(), capture_output=True, check=False)
    return done.returncode == 0
