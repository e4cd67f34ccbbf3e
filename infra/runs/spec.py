"""What a run declares: one typed specification, from a stack file or a run file alike."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from infra.settings.quantity import Quantity
from infra.settings.section import Section
from trainer import config as trainer_config

Priority = Literal["low", "normal", "high"]
DEFAULT_METRICS = ("loss", "tokens_per_second")
DURATION = re.compile(r"^(?P<count>[1-9][0-9]*)(?P<unit>[smhd])$")
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Parallelism(Section):
    """Degrees of parallelism; `data` may be left out and follows from the others."""

    tensor: Annotated[int, Field(ge=1)] = 1
    pipeline: Annotated[int, Field(ge=1)] = 1
    data: Annotated[int, Field(ge=1)] | None = None


class WorkerResources(Section):
    """What one worker pod requests and may use at most."""

    cpu: Quantity = "1"
    memory: Quantity = "2Gi"


class Storage(Section):
    """`dataset` and `checkpoint`: a name below the team's volume, or an absolute path inside the pod."""

    dataset: Annotated[str, Field(min_length=1)]
    checkpoint: Annotated[str, Field(min_length=1)] | None = None

    @field_validator("dataset", "checkpoint")
    @classmethod
    def _inside_the_volume(cls, value: str | None) -> str | None:
        if value and (".." in value.split("/") or any(ord(c) < 32 for c in value) or value.strip("/") == ""):
            raise ValueError(
                "must name a directory inside the volume: no '..', no control characters, not the root"
            )
        return value


class CheckpointPolicy(Section):
    """Every how many steps, and how many of the newest whole ones stay."""

    interval_steps: Annotated[int, Field(ge=1)] = 100
    keep_last: Annotated[int, Field(ge=1)] = 2


class RunSpec(Section):
    """A run, before it is resolved against a stack (R4.1)."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-_a-z0-9]{0,38}[a-z0-9])?$")]
    stage: Literal["pretrain"] = "pretrain"
    purpose: Literal["training", "experiment", "evaluation"] = "training"
    image: Annotated[str, Field(min_length=1)] = "trainer"
    queue: str | None = None
    priority: Priority = "normal"
    nodes: Annotated[int, Field(ge=1, le=100_000)]
    cards_per_node: Annotated[int, Field(ge=1, le=64)]
    parallelism: Parallelism = Parallelism()
    resources: WorkerResources = WorkerResources()
    storage: Storage
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    auto_restart: bool = True
    max_restarts: Annotated[int, Field(ge=0, le=100)] = 3
    time_limit: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    command: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = DEFAULT_METRICS
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    model: trainer_config.Model = trainer_config.Model()
    optimizer: trainer_config.Optimizer = trainer_config.Optimizer()
    training: trainer_config.Training = trainer_config.Training()

    @property
    def world_size(self) -> int:
        """Processes of the run: one a card."""
        return self.nodes * self.cards_per_node

    @property
    def data_parallel(self) -> int:
        """world size / (tensor x pipeline)."""
        return self.world_size // (self.parallelism.tensor * self.parallelism.pipeline)

    @property
    def time_limit_seconds(self) -> int | None:
        """The declared limit in seconds."""
        found = DURATION.match(self.time_limit or "")
        return int(found["count"]) * UNIT_SECONDS[found["unit"]] if found else None

    @field_validator("time_limit")
    @classmethod
    def _duration(cls, value: str | None) -> str | None:
        if value is not None and not DURATION.match(value):
            raise ValueError("write a duration as 90s, 30m, 12h or 7d")
        return value

    @field_validator("env", mode="before")
    @classmethod
    def _env_as_text(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        for key, item in value.items():
            if not re.match(r"^[A-Za-z_][A-Za-z0-9_]*$", str(key)):
                raise ValueError(f"{key!r} is not the name of an environment variable")
            if isinstance(item, bool):
                raise ValueError(f"{key}: quote the value, YAML reads it as true or false")
        return {str(key): str(item) if isinstance(item, int | float) else item for key, item in value.items()}

    @model_validator(mode="after")
    def _layout_multiplies_to_the_cards(self) -> "RunSpec":
        tensor, pipeline, declared = self.parallelism.tensor, self.parallelism.pipeline, self.parallelism.data
        cards = f"{self.nodes} nodes x {self.cards_per_node} cards = {self.world_size}"
        if self.world_size % (tensor * pipeline):
            raise ValueError(
                f"parallelism: {cards} is not divisible by tensor {tensor} x pipeline {pipeline}"
            )
        if declared is not None and declared != self.data_parallel:
            product = (
                f"data {declared} x tensor {tensor} x pipeline {pipeline} = {declared * tensor * pipeline}"
            )
            raise ValueError(
                f"parallelism: {product}, but {cards}; set data to {self.data_parallel} or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _experiments_end(self) -> "RunSpec":
        if self.purpose == "experiment" and self.time_limit is None:
            raise ValueError("time_limit: an experiment needs one, so that it releases its nodes, e.g. 2h")
        return self
