"""The run file that a trainer pod reads (`/etc/trainyard/run.yaml`), as frozen models.

Each section can be validated on its own, so that whoever writes run files checks them with the same models.
Nothing here imports torch or numpy.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from trainer.errors import ConfigError

SCHEMA_VERSION = 1
MAX_PORT = 65535

METRIC_ALIASES = {"mem_util": "memory_utilization", "net_bw": "network_bytes_per_second"}
METRIC_NAMES = (
    "loss",
    "learning_rate",
    "grad_norm",
    "tokens_per_second",
    "tokens_seen",
    "step_seconds",
    "data_seconds",
    "compute_seconds",
    "communication_seconds",
    "checkpoint_seconds",
    "memory_bytes",
    "memory_utilization",
    "network_bytes_per_second",
)

_EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def load(path: str | Path) -> "RunConfig":
    """Read and validate a run file.

    Raises ConfigError, one line a field, when the file is missing, is not YAML, or does not fit the schema.
    """
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must hold a mapping of sections, found {type(document).__name__}")
    return parse(document, source=str(path))


def parse(document: dict[str, Any], *, source: str = "run file") -> "RunConfig":
    """Validate an already parsed run file; raises ConfigError with one line a field."""
    try:
        return RunConfig.model_validate(document)
    except ValidationError as error:
        lines = describe_errors(error)
        raise ConfigError(f"{source}: {len(lines)} problem(s)\n" + "\n".join(lines)) from error


def describe_errors(error: ValidationError) -> list[str]:
    """Turn a validation error into lines of `  field.path: what is wrong`."""
    lines = []
    for item in error.errors(include_url=False):
        path = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "is not a known field"
        elif item["type"] == "missing":
            message = "is required"
        lines += [f"  {path}: {line}" if path else f"  {line}" for line in message.splitlines()]
    return lines


def _read_exponent(value: object) -> object:
    """YAML 1.1 reads `1e-3` (no dot) as text; people mean a number."""
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _read_metric_names(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return tuple(METRIC_ALIASES.get(name, name) if isinstance(name, str) else name for name in value)


def _known_metrics(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in METRIC_NAMES]
    if unknown:
        raise ValueError(f"unknown metric {', '.join(unknown)}; known: {', '.join(METRIC_NAMES)}")


Number = Annotated[float, BeforeValidator(_read_exponent)]
PositiveNumber = Annotated[Number, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
AbsolutePath = Annotated[str, Field(pattern=r"^/")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]


class Section(BaseModel):
    """Base of all sections: immutable, typed strictly, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Run(Section):
    """Who this run is."""

    id: Name
    name: Name
    stage: Literal["pretrain"] = "pretrain"
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1234


class Model(Section):
    """Decoder shape; the vocabulary size comes from the data set."""

    dim: Count = 256
    num_layers: Count = 6
    num_heads: Count = 8
    num_kv_heads: Count = 4
    hidden_dim: Count = 688
    max_sequence_tokens: Count = 256
    rope_theta: PositiveNumber = 10000.0
    norm_eps: PositiveNumber = 1e-5
    tie_embeddings: bool = True

    @model_validator(mode="after")
    def _heads_fit(self) -> "Model":
        heads, kv_heads = self.num_heads, self.num_kv_heads
        if self.dim % heads:
            raise ValueError(f"dim {self.dim} is not divisible by num_heads {heads}")
        if (self.dim // heads) % 2:
            raise ValueError(f"dim / num_heads is {self.dim // heads}; rotary positions need it even")
        if heads % kv_heads:
            raise ValueError(f"num_heads {heads} is not divisible by num_kv_heads {kv_heads}")
        return self


class Optimizer(Section):
    """AdamW with linear warm-up and cosine decay."""

    learning_rate: PositiveNumber = 1e-3
    min_learning_rate_ratio: Annotated[Number, Field(ge=0, le=1)] = 0.1
    warmup_steps: Annotated[int, Field(ge=0)] = 20
    weight_decay: Annotated[Number, Field(ge=0)] = 0.1
    beta1: Annotated[Number, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[Number, Field(ge=0, lt=1)] = 0.95
    clip_norm: PositiveNumber = 1.0


class Training(Section):
    """How long, in which batches, and how often to look."""

    num_steps: Count = 200
    sequence_tokens: Count = 256
    micro_batch_sequences: Count = 8
    global_batch_sequences: Count = 16
    eval_interval_steps: Count = 50
    eval_sequences: Count = 64
    log_interval_steps: Count = 1
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


class Parallel(Section):
    """Degrees of parallelism; their product is the world size."""

    data: Count = 1
    tensor: Count = 1
    pipeline: Count = 1

    @property
    def world_size(self) -> int:
        return self.data * self.tensor * self.pipeline

    @model_validator(mode="after")
    def _supported(self) -> "Parallel":
        for name in ("tensor", "pipeline"):
            if getattr(self, name) != 1:
                raise ValueError(f"{name} must be 1: not supported by the built-in trainer yet")
        return self


class Data(Section):
    """The data set, pinned by the version in its manifest (or its first digits; null takes what is there)."""

    dataset: AbsolutePath
    version: Annotated[str, Field(pattern=r"^[0-9a-f]{12,64}$")] | None = None
    cache: AbsolutePath = "/cache"
    read_timeout_seconds: PositiveNumber = 60.0


class Checkpoint(Section):
    """Where whole checkpoints go, how often, and how many stay."""

    directory: AbsolutePath
    interval_steps: Count = 50
    keep_last: Count = 2


class Output(Section):
    """Where metrics, the environment snapshot and the summary go."""

    directory: AbsolutePath


class Distributed(Section):
    """Collective backend (it names the adapter, too) and the time all ranks have to meet."""

    backend: Literal["gloo", "nccl"] = "gloo"
    handshake_timeout_seconds: PositiveNumber = 120.0


class Metrics(Section):
    """Prometheus port (0: none) and the metrics shown there and in the log; the metrics file holds all."""

    port: Annotated[int, Field(ge=0, le=MAX_PORT)] = 9400
    names: Annotated[tuple[str, ...], BeforeValidator(_read_metric_names)] = ("loss", "tokens_per_second")

    @model_validator(mode="after")
    def _names_known(self) -> "Metrics":
        _known_metrics(self.names)
        return self


class RunConfig(Section):
    """One run, resolved."""

    schema_version: Literal[1]
    run: Run
    model: Model = Model()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    parallel: Parallel = Parallel()
    data: Data
    checkpoint: Checkpoint
    output: Output
    distributed: Distributed = Distributed()
    metrics: Metrics = Metrics()

    @model_validator(mode="after")
    def _sections_agree(self) -> "RunConfig":
        problems = list(disagreements(self.model, self.optimizer, self.training, self.parallel))
        if problems:
            raise ValueError("\n".join(problems))
        return self


def disagreements(model: Model, optimizer: Optimizer, training: Training, parallel: Parallel) -> list[str]:
    """Check fields against those of other sections; one `field.path: what is wrong` a problem."""
    problems = []
    global_batch, micro_batch = training.global_batch_sequences, training.micro_batch_sequences
    if global_batch % (parallel.data * micro_batch):
        problems.append(
            f"training.global_batch_sequences: {global_batch} is not divisible by parallel.data x "
            f"training.micro_batch_sequences = {parallel.data} x {micro_batch}"
        )
    if training.sequence_tokens > model.max_sequence_tokens:
        problems.append(
            f"training.sequence_tokens: {training.sequence_tokens} exceeds model.max_sequence_tokens "
            f"{model.max_sequence_tokens}"
        )
    if optimizer.warmup_steps > training.num_steps:
        problems.append(
            f"optimizer.warmup_steps: {optimizer.warmup_steps} exceeds training.num_steps "
            f"{training.num_steps}"
        )
    return problems
