"""From a run's specification and its stack to everything that the templates need."""

from dataclasses import dataclass
from typing import Any

from infra import naming
from infra.catalog import Accelerator, accelerator
from infra.runs.spec import RunSpec
from infra.settings.stack import StackSettings

CONFIG_PATH = "/etc/trainyard/run.yaml"
MASTER_PORT = 29500
METRICS_PORT = 9400


@dataclass(frozen=True)
class Mount:
    """A volume of the team in a worker: mounted at `path`, of which the run uses `directory`."""

    path: str
    directory: str


@dataclass(frozen=True)
class ResolvedRun:
    """A run with every name decided; `config` is the content of the trainer's file."""

    id: str
    stack: str
    team: str
    spec: RunSpec
    image: str
    accelerator: Accelerator
    data: Mount
    checkpoints: Mount
    config: dict[str, Any]

    @property
    def namespace(self) -> str:
        """The team's namespace."""
        return naming.namespace(self.team)

    @property
    def labels(self) -> dict[str, str]:
        """The labels on every object of the run."""
        return naming.run_labels(
            stack=self.stack, team=self.team, run=self.spec.name, run_id=self.id, purpose=self.spec.purpose
        )


def resolve(spec: RunSpec, *, stack: str, settings: StackSettings, trainer_image: str) -> ResolvedRun:
    """Decide the run's identity and paths; `image: trainer` becomes `trainer_image`."""
    image = trainer_image if spec.image == "trainer" else spec.image
    team = settings.team_of(spec).name
    identity = naming.run_id(spec.name, {**spec.model_dump(mode="json"), "image": image, "team": team})
    kind = accelerator(settings.sites[0].pools[0].accelerator)
    data = _mount(spec.storage.dataset, volume="/data")
    checkpoints = _mount(spec.storage.checkpoint or identity, volume="/checkpoints")
    version = next((d.version for d in settings.datasets if d.name == spec.storage.dataset), None)
    config = _config(spec, identity=identity, data=data, checkpoints=checkpoints, kind=kind, version=version)
    return ResolvedRun(identity, stack, team, spec, image, kind, data, checkpoints, config)


def _mount(location: str, *, volume: str) -> Mount:
    if not location.startswith("/"):
        return Mount(path=volume, directory=f"{volume}/{location}")
    directory = location.rstrip("/")
    parent = directory.rpartition("/")[0]
    return Mount(path=parent or directory, directory=directory)


def _config(
    spec: RunSpec, *, identity: str, data: Mount, checkpoints: Mount, kind: Accelerator, version: str | None
) -> dict[str, Any]:
    degrees = {
        "data": spec.data_parallel,
        "tensor": spec.parallelism.tensor,
        "pipeline": spec.parallelism.pipeline,
    }
    return {
        "schema_version": 1,
        "run": {"id": identity, "name": spec.name.replace("_", "-"), "stage": spec.stage, "seed": spec.seed},
        "model": spec.model.model_dump(mode="json"),
        "optimizer": spec.optimizer.model_dump(mode="json"),
        "training": spec.training.model_dump(mode="json"),
        "parallel": degrees,
        "data": {"dataset": data.directory, "version": version, "cache": "/cache"},
        "checkpoint": {"directory": checkpoints.directory, **spec.checkpoint.model_dump(mode="json")},
        "output": {"directory": f"/output/{identity}"},
        "distributed": {"backend": kind.backend},
        "metrics": {"port": METRICS_PORT, "names": list(spec.metrics)},
    }
