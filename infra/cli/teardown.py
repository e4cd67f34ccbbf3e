"""`trainyard teardown`: ends an environment once its results are in the vault."""

import subprocess
from typing import Annotated

import typer

from infra import paths
from infra.cli.env import environment
from infra.cli.options import StackOption
from infra.errors import TrainyardError
from infra.kube import ApiError, Cluster
from infra.runs import archive, records
from infra.runs.follow import follow, print_line
from infra.runs.stop import stop_run
from infra.settings.stack import load_stack
from infra.sites.local import place
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
    kubeconfig = place.kubeconfig(load_stack(stack).sites[0])
    if kubeconfig.exists():
        try:
            _end_runs(Cluster(kubeconfig), stack=stack, stop=stop)
        except ApiError as error:
            raise _with_ways_on(error) from None
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
        elif follow(cluster, jobset).state == "stuck":
            name = jobset["metadata"]["name"]
            raise TrainyardError(
                f"the pods of {name} cannot start, so it will not end by itself (see above)",
                next_step=f"correct the cause, or trainyard teardown --stack {stack} --stop",
            )
        record = archive.archive_run(cluster, jobset, stack=stack)
        print_line(f"{record['run_id']}: {record['status']}; record: {records.record_dir(record['run_id'])}")


def _with_ways_on(error: ApiError) -> TrainyardError:
    ways = "trainyard cluster up, then this again; or trainyard cluster down, which gives the runs up"
    return TrainyardError(error.message, next_step=ways) if error.passing else error


def _stack_exists(stack: str) -> bool:
    command = [str(tools.find("pulumi")), "stack", "--stack", stack, "--show-name", "--non-interactive"]
    done = subprocess.run(
        command, cwd=paths.REPOSITORY, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode and "no stack named" not in done.stderr:
        raise TrainyardError(f"stack {stack}: {done.stderr.strip()}", next_step="trainyard doctor")
    return done.returncode == 0
