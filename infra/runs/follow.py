"""Follows a run to its end, with a line of progress whenever there is something new."""

import sys
import time
from collections.abc import Callable
from typing import Any

from infra.errors import TrainyardError
from infra.kube import Cluster, patiently
from infra.runs import records
from infra.runs.start import Verdict, judge, observe

POLL_SECONDS = 2.0
STUCK_SECONDS = 120.0
ENDED = ("finished", "failed", "stopped")


def state_of(cluster: Cluster, jobset: dict[str, Any]) -> Verdict:
    """What the cluster says of the run now."""
    metadata = jobset["metadata"]
    return judge(observe(cluster, metadata["namespace"], metadata["name"]))


def follow(
    cluster: Cluster,
    jobset: dict[str, Any],
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
    log: Callable[[str], None] = lambda line: print_line(line),
) -> Verdict:
    """Wait until the run has ended, printing its state and its newest step as they change.

    A run whose pods have been unable to start for two minutes is given up: the verdict is then `stuck`.
    """
    run_id, shown, moving = jobset["metadata"]["name"], "", clock()
    while True:
        seen = patiently(
            lambda: observe(cluster, jobset["metadata"]["namespace"], run_id), clock=clock, pause=pause
        )
        if seen.jobset is None:
            raise TrainyardError(f"run {run_id} is gone from the cluster", next_step="trainyard status")
        verdict = judge(seen)
        line = f"{run_id}: {verdict.state}{_step(run_id) if verdict.state == 'running' else _why(verdict)}"
        if line != shown:
            log(line)
            shown = line
        if verdict.state in ENDED:
            return verdict
        if verdict.state != "stuck":
            moving = clock()
        elif clock() - moving >= STUCK_SECONDS:
            return verdict
        pause(POLL_SECONDS)


def print_line(line: str) -> None:
    """One line of progress, to standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _why(verdict: Verdict) -> str:
    return f": {verdict.reason}" if verdict.reason else ""


def _step(run_id: str) -> str:
    metrics = records.read_metrics(records.output_dir(run_id) / "metrics.jsonl")
    train = [line for line in metrics if line.get("kind") == "train" and line["step"] % 10 == 0]
    if not train:
        return ""
    last = train[-1]
    return f", step {last['step']}, loss {last['loss']:.3f}, {last['tokens_per_second']:,.0f} tokens/s"
