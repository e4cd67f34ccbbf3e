"""The whole of a stack file as one frozen object."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from infra.errors import InvalidInput
from infra.runs.dialects import parse_run
from infra.runs.spec import RunSpec
from infra.settings.places import Dataset, LocalSite, Team
from infra.settings.quantity import amount
from infra.settings.reader import read_stack_object, stack_file
from infra.settings.section import Section, parse_section
from trainer import config as trainer_config


class StackSettings(Section):
    """One environment: where it is, who shares it, what runs in it.

    Raises `InvalidInput` through `parse_stack`, with the path of each wrong field.
    """

    schema_version: Literal[1]
    sites: Annotated[tuple[LocalSite, ...], Field(min_length=1, max_length=1)]
    teams: Annotated[tuple[Team, ...], Field(min_length=1)]
    datasets: tuple[Dataset, ...] = ()
    runs: tuple[RunSpec, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> "StackSettings":
        for field in ("teams", "datasets", "runs"):
            names = [item.name for item in getattr(self, field)]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{field}: {name!r} is declared twice")
        return self

    @model_validator(mode="after")
    def _runs_fit(self) -> "StackSettings":
        for index, run in enumerate(self.runs):
            problem = self.why_not(run)
            if problem:
                raise ValueError(f"runs[{index}].{problem}")
        return self

    def team_of(self, run: RunSpec) -> Team:
        """The team whose queue the run goes to; raises `ValueError` naming the queues there are."""
        names = [team.name for team in self.teams]
        if run.queue is None and len(names) == 1:
            return self.teams[0]
        if run.queue not in names:
            raise ValueError(
                f"queue: {run.queue!r} is not a team of this stack; use one of {', '.join(names)}"
            )
        return self.teams[names.index(run.queue)]

    def why_not(self, run: RunSpec) -> str | None:
        """Why the run could never start in this stack, or None."""
        try:
            team = self.team_of(run)
        except ValueError as error:
            return str(error)
        if not run.storage.dataset.startswith("/") and run.storage.dataset not in [
            d.name for d in self.datasets
        ]:
            known = ", ".join(d.name for d in self.datasets) or "none declared"
            return f"storage.dataset: {run.storage.dataset!r} is not a data set of this stack ({known})"
        for kind in ("cpu", "memory"):
            need, quota = getattr(run.resources, kind), getattr(team.quota, kind)
            if run.nodes * amount(need) > amount(quota):
                return f"resources.{kind}: {run.nodes} x {need} exceed the quota {quota} of queue {team.name}"
        return None if run.command else _why_the_trainer_refuses(run)


def _why_the_trainer_refuses(run: RunSpec) -> str | None:
    for degree in ("tensor", "pipeline"):
        if getattr(run.parallelism, degree) > 1:
            return (
                f"parallelism.{degree}: the built-in trainer takes 1 only; give `command` for another trainer"
            )
    layout = trainer_config.Parallel(data=run.data_parallel)
    problems = trainer_config.disagreements(run.model, run.optimizer, run.training, layout)
    return "; ".join(problems) or None


def parse_stack(value: Any, *, origin: str) -> StackSettings:
    """Settings from the plain object under `trainyard:stack`; raises `InvalidInput`."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{origin}: expected a mapping under trainyard:stack")
    runs = value.get("runs", [])
    if not isinstance(runs, list):
        raise InvalidInput(f"{origin}: runs: expected a list")
    parsed = [parse_run(run, origin=f"{origin}: runs[{index}]") for index, run in enumerate(runs)]
    return parse_section(StackSettings, {**value, "runs": parsed}, origin=origin)


def load_stack(stack: str) -> StackSettings:
    """Settings of the stack's file in `stacks/`."""
    return parse_stack(read_stack_object(stack), origin=f"stacks/{stack_file(stack).name}")
