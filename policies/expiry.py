"""Runs say what they are for, and experiments end by themselves (R4.7)."""

from collections.abc import Iterator
from typing import Final

from policies.pods import EACH, SYSTEM_NAMESPACES, expand
from policies.problems import Problem, guarded, report
from policies.reading import Manifest, Node

CONTROL: Final = "Trainyard expiry, R4.7"
PURPOSE: Final = "trainyard.dev/purpose"
PURPOSES: Final = ("training", "experiment", "evaluation", "serving")
DEADLINE: Final = "activeDeadlineSeconds"
_JOBS: Final = {"Job": (), "JobSet": ("spec", "replicatedJobs", EACH, "template")}


def validate(manifest: Manifest) -> list[str]:
    """Violations of a JobSet, or of a Job outside one; jobs of the system namespaces are not runs."""
    return report(manifest, guarded(_problems(manifest)), control=CONTROL)


def _problems(manifest: Manifest) -> Iterator[Problem]:
    path = _JOBS.get(str(manifest.get("kind")))
    run = Node(manifest)
    if path is None or run.get("metadata", "namespace") in SYSTEM_NAMESPACES:
        return
    purpose = run.get("metadata", "labels", PURPOSE)
    if purpose not in PURPOSES:
        yield Problem(
            f"label {PURPOSE} is {purpose!r}" if purpose else f"label {PURPOSE} is not set",
            f"set it to one of {', '.join(PURPOSES)}; a run file does it with `purpose:`",
        )
    if purpose == "experiment":
        for job, label in expand(run, path):
            yield from guarded(_deadline(job, label))


def _deadline(job: Node, label: str) -> Iterator[Problem]:
    seconds = job.get("spec", DEADLINE)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        where = f"{label}: " if label else ""
        shown = "not set" if seconds is None else repr(seconds)
        yield Problem(
            f"{where}an experiment must end by itself, but {DEADLINE} is {shown}",
            "give the run a `time_limit:`, for example 2h",
        )
