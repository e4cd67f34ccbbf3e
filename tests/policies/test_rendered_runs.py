"""What the project renders satisfies its own policies."""

from typing import Any

import pytest

from infra.paths import REPOSITORY
from infra.runs.render import render_run
from infra.runs.resolve import resolve
from infra.settings.stack import load_stack
from policies.pack import CONCERNS, Concern

IMAGE = "localhost/trainyard/trainer:000000000000"
STACKS = sorted(path.name.split(".")[1] for path in (REPOSITORY / "stacks").glob("Pulumi.*.yaml"))


def rendered(stack: str, **changes: Any) -> list[dict[str, Any]]:
    settings = load_stack(stack)
    specs = [spec.model_copy(update=changes) for spec in settings.runs]
    runs = [resolve(spec, stack=stack, settings=settings, trainer_image=IMAGE) for spec in specs]
    return [document for run in runs for document in render_run(run)]


@pytest.mark.parametrize("concern", CONCERNS, ids=lambda concern: concern.name)
@pytest.mark.parametrize("stack", STACKS)
def test_the_runs_of_each_stack_pass(stack: str, concern: Concern) -> None:
    documents = rendered(stack)
    assert "JobSet" in [document["kind"] for document in documents]
    assert [message for document in documents for message in concern.validate(document)] == []


def test_a_rendered_experiment_ends_by_itself() -> None:
    expiry = next(concern for concern in CONCERNS if concern.name == "run-expiry")
    documents = rendered("local", purpose="experiment", time_limit="2h")
    assert [message for document in documents for message in expiry.validate(document)] == []
