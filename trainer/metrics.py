"""What a run tells the world: JSON lines in its output directory, Prometheus gauges, a progress line."""

import json
import math
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from trainer.config import Metrics as MetricsConfig

METRICS_FILE = "metrics.jsonl"
ENVIRONMENT_FILE = "environment.json"

Fields = dict[str, Any]


class Recorder:
    """Takes everything that happens; rank 0 writes it down, the first rank of each pod serves it."""

    def __init__(
        self, directory: Path, config: MetricsConfig, *, run_id: str, rank: int, local_rank: int
    ) -> None:
        self._names = config.names
        self._speaks = local_rank == 0
        self._file = _open_lines(directory / METRICS_FILE) if rank == 0 else None
        self._gauges = Gauges(run_id=run_id, rank=rank, names=config.names)
        problem = self._gauges.serve(config.port) if local_rank == 0 and config.port else None
        if problem:
            self.say(f"rank {rank}: no metrics on port {config.port}: {problem}", any_rank=True)
            self.event("metrics_port_unavailable", detail=f"port {config.port}: {problem}")

    def step(self, fields: Fields) -> None:
        """Record one training step."""
        self._gauges.set(fields)
        self._write("train", fields)

    def validation(self, *, step: int, loss: float) -> None:
        """Record a validation loss in nats per token."""
        self._gauges.set({"validation_loss": loss})
        self._write("validation", {"step": step, "loss": loss})
        self.say(f"step {step}  validation loss {loss:.4f}")

    def checkpoint(self, *, step: int, detail: str) -> None:
        """Record a committed checkpoint."""
        self._gauges.set({"checkpoint_step": step, "checkpoint_timestamp_seconds": time.time()})
        self.event("checkpoint", detail=detail, step=step)

    def event(self, name: str, *, detail: str, **fields: Any) -> None:
        """Record something that happens rarely."""
        self._write("event", {"event": name, "detail": detail, **fields})

    def say(self, line: str, *, any_rank: bool = False) -> None:
        """Print a line on stdout, from the first rank of each pod unless told otherwise."""
        if self._speaks or any_rank:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def progress(self, fields: Fields, *, num_steps: int) -> None:
        """Print the chosen metrics of a step."""
        shown = "  ".join(f"{name} {_readable(fields[name])}" for name in self._names if name in fields)
        self.say(f"step {fields['step']}/{num_steps}  {shown}")

    def _write(self, kind: str, fields: Fields) -> None:
        if self._file:
            finite = {key: _finite(value) for key, value in fields.items()}
            self._file.write(
                json.dumps({"time": time.time(), "kind": kind, **finite}, allow_nan=False) + "\n"
            )
            self._file.flush()


class Gauges:
    """Prometheus gauges `trainyard_<metric>`, with the run and rank as labels."""

    ALWAYS = ("step", "validation_loss", "checkpoint_step", "checkpoint_timestamp_seconds")

    def __init__(self, *, run_id: str, rank: int, names: tuple[str, ...]) -> None:
        self.registry = CollectorRegistry()
        self._labels = {"run": run_id, "rank": str(rank)}
        self._gauges = {name: self._gauge(name) for name in dict.fromkeys((*names, *self.ALWAYS))}

    def set(self, fields: Fields) -> None:
        """Show the values whose names were chosen."""
        for name, value in fields.items():
            if name in self._gauges:
                self._gauges[name].labels(**self._labels).set(value)

    def serve(self, port: int) -> str | None:
        """Serve the gauges; returns what went wrong, for metrics are no reason to fail a run."""
        try:
            start_http_server(port, registry=self.registry)
        except OSError as error:
            return error.strerror or str(error)
        return None

    def _gauge(self, name: str) -> Gauge:
        return Gauge(f"trainyard_{name}", name.replace("_", " "), list(self._labels), registry=self.registry)


def read_lines(directory: Path, *, kind: str) -> list[Fields]:
    """Lines of one kind from a metrics file; a step that a restart repeated counts once, as it was last."""
    path = directory / METRICS_FILE
    if not path.exists():
        return []
    latest: dict[int, Fields] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = _parse(line)
        if fields.get("kind") == kind and isinstance(fields.get("step"), int):
            latest[fields["step"]] = fields
    return [latest[step] for step in sorted(latest)]


def environment(*, world_size: int, adapter: str, precision: str) -> Fields:
    """Snapshot of the software that runs: for the record, so that a result can be repeated."""
    packages = {item.metadata["Name"]: item.version for item in metadata.distributions()}
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "hostname": platform.node(),
        "world_size": world_size,
        "adapter": adapter,
        "precision": precision,
        "num_threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    }


def _open_lines(path: Path) -> TextIO:
    """Open for appending; a line that a crash cut off is ended, so that it spoils no other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    file = path.open("a", encoding="utf-8")
    if cut_off:
        file.write("\n")
    return file


def _parse(line: str) -> Fields:
    try:
        fields = json.loads(line)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _finite(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _readable(value: float) -> str:
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.4f}"
