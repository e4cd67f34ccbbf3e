from typing import Any

import pytest

from policies.expiry import validate
from policies.reading import UNKNOWN

LABEL = ("metadata", "labels", "trainyard.dev/purpose")
JOB = ("spec", "replicatedJobs", 0, "template", "spec")


@pytest.fixture
def experiment(run: Any, edited: Any) -> Any:
    return edited(edited(run, LABEL, "experiment"), (*JOB, "activeDeadlineSeconds"), 7200)


@pytest.mark.parametrize("purpose", ["training", "evaluation", "serving"])
def test_declared_purposes_need_no_time_limit(run: Any, edited: Any, purpose: str) -> None:
    assert validate(edited(run, LABEL, purpose)) == []


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        (..., "purpose is not set"),
        ("", "purpose is not set"),
        ("Training", "purpose is 'Training'"),
        ("fun", "purpose is 'fun'"),
        (UNKNOWN, "trainyard.dev/purpose is unknown at preview"),
    ],
)
def test_a_run_without_a_purpose_is_refused(run: Any, edited: Any, purpose: object, expected: str) -> None:
    (message,) = validate(edited(run, LABEL, purpose))
    assert message.startswith("JobSet team-a/first-words-1a2b3c4d: ")
    assert expected in message
    assert "R4.7" in message and "\n  next: " in message


def test_an_experiment_with_a_time_limit_passes(experiment: Any, edited: Any) -> None:
    assert validate(experiment) == []
    assert validate(edited(experiment, (*JOB, "activeDeadlineSeconds"), 60.0)) == []


@pytest.mark.parametrize("seconds", [..., None, 0, -1, "2h", True, UNKNOWN])
def test_an_experiment_that_may_run_forever_is_refused(experiment: Any, edited: Any, seconds: object) -> None:
    (message,) = validate(edited(experiment, (*JOB, "activeDeadlineSeconds"), seconds))
    assert "activeDeadlineSeconds" in message
    assert ("unknown" in message) == (seconds is UNKNOWN)


def test_every_replicated_job_of_an_experiment_ends(experiment: Any, edited: Any) -> None:
    second = {"name": "evaluator", "template": {"spec": {}}}
    (message,) = validate(edited(experiment, ("spec", "replicatedJobs", 1), second))
    assert "spec.replicatedJobs[1] 'evaluator': an experiment must end" in message


def test_a_job_outside_a_jobset_is_a_run_too(pod_spec: Any) -> None:
    job = {
        "kind": "Job",
        "metadata": {"name": "stray", "namespace": "team-a"},
        "spec": {"template": {"spec": pod_spec}},
    }
    assert len(validate(job)) == 1
    job["metadata"]["labels"] = {"trainyard.dev/purpose": "experiment"}
    assert len(validate(job)) == 1
    job["spec"]["activeDeadlineSeconds"] = 60
    assert validate(job) == []


@pytest.mark.parametrize("namespace", ["kueue-system", "jobset-system"])
def test_jobs_of_the_system_are_no_runs(namespace: str) -> None:
    assert validate({"kind": "Job", "metadata": {"name": "hook", "namespace": namespace}, "spec": {}}) == []


def test_other_kinds_need_no_purpose(pod: Any) -> None:
    assert validate(pod) == []
