"""`trainyard status | logs | wait | report | stop`: what an operator asks about runs."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infra.cli.options import JsonOption, StackOption
from infra.cli.summary import print_summary
from infra.errors import TrainyardError
from infra.kube import Cluster
from infra.runs import archive, records
from infra.runs.follow import follow, state_of
from infra.runs.report import render_report
from infra.runs.stop import resume_run, stop_run
from infra.settings.stack import load_stack
from infra.sites.local import place

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="The run's id, or its name for the newest of that name.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (status, logs, wait, report, stop, resume):
        app.command(command.__name__)(command)


def status(stack: StackOption = "local", as_json: JsonOption = False) -> None:
    """Show the stack's runs, those that only the vault remembers included: state, step, loss, speed."""
    live = _live_rows(stack) if _kubeconfig(stack).exists() else []
    known = {row["run"] for row in live}
    rows = [*(row for row in _recorded_rows(stack) if row["run"] not in known), *live]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("run", "state", "step", "loss", "tokens/s", "why", title=Text(f"stack {stack}"))
    for row in rows:
        table.add_row(*(Text(str(row[key] if row[key] is not None else "-")) for key in row))
    Console().print(table if rows else Text(f"stack {stack} has no runs yet; next: make up"))


def logs(
    run: RunArgument,
    stack: StackOption = "local",
    worker: Annotated[int, typer.Option(help="Which worker's log.")] = 0,
    follow_log: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the worker ends.")] = False,
) -> None:
    """Print a worker's log: from its pod, or from the vault once the environment is gone."""
    live = _live_run(run, stack=stack)
    if live is None:
        typer.echo(_recorded_log(recorded_id(run), worker=worker), nl=False)
        return
    cluster, jobset = live
    pods = [pod for pod in archive.pods_of(cluster, jobset) if archive.rank_of(pod) == worker]
    if not pods:
        raise TrainyardError(f"run {run} has no pod of worker {worker} yet", next_step="trainyard status")
    metadata = pods[-1]["metadata"]
    for line in cluster.log_lines(
        metadata["namespace"], metadata["name"], container="trainer", follow=follow_log
    ):
        typer.echo(line)


def wait(stack: StackOption = "local") -> None:
    """Follow the stack's runs to their end, then put their records into the vault and print what came out."""
    cluster, failed = _cluster(stack), []
    for jobset in archive.declared_runs(cluster, stack=stack):
        verdict = follow(cluster, jobset)
        record = archive.archive_run(cluster, jobset, stack=stack)
        print_summary(record, _write_report(record["run_id"]))
        failed += [record["run_id"]] if verdict.state in ("failed", "stuck") else []
    if failed:
        raise TrainyardError(f"{', '.join(failed)} failed", next_step=f"trainyard logs {failed[0]}")


def report(run: RunArgument, stack: StackOption = "local") -> None:
    """Write the run's HTML report with its curves and print where it is."""
    live = _live_run(run, stack=stack)
    run_id = str(archive.archive_run(*live, stack=stack)["run_id"]) if live else recorded_id(run)
    typer.echo(str(_write_report(run_id)))


def stop(run: RunArgument, stack: StackOption = "local") -> None:
    """Stop a run: its workers save a last checkpoint and end; its record goes to the vault."""
    cluster = _cluster(stack)
    jobset = archive.find_run(cluster, run, stack=stack)
    archive.archive_run(cluster, jobset, stack=stack)
    stop_run(cluster, jobset)
    record = archive.archive_run(cluster, jobset, stack=stack)
    typer.echo(f"{record['run_id']} is stopped; record: {records.record_dir(record['run_id'])}")


def resume(run: RunArgument, stack: StackOption = "local") -> None:
    """Give a stopped run back to its queue; it goes on from its newest whole checkpoint."""
    cluster = _cluster(stack)
    resume_run(cluster, archive.find_run(cluster, run, stack=stack))
    typer.echo(f"{run} is back in its queue; next: trainyard wait")


def recorded_id(run: str) -> str:
    """The id of a recorded run, by its id or by its name (then the newest)."""
    if (records.record_dir(run) / "record.json").exists():
        return run
    found = sorted(
        records.record_dir("x").parent.glob("*/record.json"), key=lambda path: path.stat().st_mtime
    )
    named = [path.parent.name for path in found if json.loads(path.read_text())["name"] == run]
    return named[-1] if named else str(records.read_record(run)["run_id"])


def _write_report(run_id: str) -> Path:
    directory = records.record_dir(run_id)
    html = render_report(records.read_record(run_id), records.read_metrics(directory / "metrics.jsonl"))
    path = directory / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def _live_run(run: str, *, stack: str) -> tuple[Cluster, dict[str, Any]] | None:
    """The cluster and the run's JobSet, or None where only the vault can know the run."""
    if not _kubeconfig(stack).exists():
        return None
    cluster = _cluster(stack)
    jobset = archive.look_up(cluster, run, stack=stack)
    return (cluster, jobset) if jobset else None


def _recorded_log(run_id: str, *, worker: int) -> str:
    path = records.record_dir(run_id) / f"worker-{worker}.log"
    if path.exists():
        return path.read_text(encoding="utf-8")
    raise TrainyardError(f"run {run_id} left no log of worker {worker}", next_step="trainyard status")


def _live_rows(stack: str) -> list[dict[str, Any]]:
    cluster = _cluster(stack)
    rows = []
    for jobset in archive.declared_runs(cluster, stack=stack):
        verdict = state_of(cluster, jobset)
        metrics = records.read_metrics(records.output_dir(jobset["metadata"]["name"]) / "metrics.jsonl")
        rows.append(_row(jobset["metadata"]["name"], verdict.state, metrics, verdict.reason))
    return rows


def _recorded_rows(stack: str) -> list[dict[str, Any]]:
    rows = []
    for path in sorted(records.record_dir("x").parent.glob("*/record.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["stack"] == stack:
            metrics = records.read_metrics(path.with_name("metrics.jsonl"))
            rows.append(_row(record["run_id"], record["status"], metrics, "from the vault's record"))
    return rows


def _row(run_id: str, state: str, metrics: list[dict[str, Any]], reason: str) -> dict[str, Any]:
    train = [line for line in metrics if line.get("kind") == "train"]
    last = train[-1] if train else {}
    loss, speed = last.get("loss"), last.get("tokens_per_second")
    return {
        "run": run_id,
        "state": state,
        "step": last.get("step"),
        "loss": round(loss, 4) if loss is not None else None,
        "tokens_per_second": round(speed) if speed is not None else None,
        "reason": reason,
    }


def _kubeconfig(stack: str) -> Path:
    return place.kubeconfig(load_stack(stack).sites[0])


def _cluster(stack: str) -> Cluster:
    return Cluster(_kubeconfig(stack))
