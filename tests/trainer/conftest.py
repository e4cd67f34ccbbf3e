"""A tiny data set, tiny run files, and the real entrypoint, for the trainer's tests."""

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer import config as configs
from trainer.config import RunConfig
from trainer.data.prepare import Settings, prepare

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported: tiny matrices, two cores

TEXT = "the node runs a worker that reads shards and writes checkpoints while rank zero commits"


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighty short documents that a model can learn something from."""
    directory = tmp_path_factory.mktemp("corpus")
    chance = random.Random(7)
    lines = [
        {"text": " ".join(chance.choices(TEXT.split(), k=60)), "source": f"book-{n % 3}"} for n in range(80)
    ]
    (directory / "docs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return directory


@pytest.fixture(scope="session")
def dataset(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus as a data set of several small shards."""
    settings = Settings(name="tiny", vocab_size=300, validation_fraction=0.1, shard_tokens=1500)
    output = tmp_path_factory.mktemp("data") / "tiny"
    prepare(corpus, output, settings=settings, report=lambda line: None)
    return output


@pytest.fixture
def document(dataset: Path, tmp_path: Path) -> dict[str, Any]:
    """A valid run file for two ranks, as a mapping that a test may change."""
    return {
        "schema_version": 1,
        "run": {"id": "tiny-1", "name": "tiny", "seed": 5},
        "model": {
            "dim": 32,
            "num_layers": 2,
            "num_heads": 4,
            "num_kv_heads": 2,
            "hidden_dim": 64,
            "max_sequence_tokens": 32,
        },
        "optimizer": {"learning_rate": 0.01, "warmup_steps": 2},
        "training": {
            "num_steps": 12,
            "sequence_tokens": 32,
            "micro_batch_sequences": 2,
            "global_batch_sequences": 8,
            "eval_interval_steps": 6,
            "eval_sequences": 6,
        },
        "parallel": {"data": 2},
        "data": {"dataset": str(dataset), "cache": str(tmp_path / "cache")},
        "checkpoint": {"directory": str(tmp_path / "checkpoints"), "interval_steps": 4, "keep_last": 2},
        "output": {"directory": str(tmp_path / "output")},
        "distributed": {"handshake_timeout_seconds": 60},
        "metrics": {"port": 0},
    }


@pytest.fixture
def one_rank(document: dict[str, Any]) -> RunConfig:
    """The same run for one rank, inside the test's own process."""
    return configs.parse({**document, "parallel": {"data": 1}})


@dataclass(frozen=True)
class Entrypoint:
    """Starts `python -m trainer` as a pod would."""

    directory: Path

    def start(
        self,
        document: dict[str, Any],
        *,
        nodes: int = 1,
        node_rank: int = 0,
        port: int = 0,
        master: str = "localhost",
    ) -> "subprocess.Popen[str]":
        """Begin `run` on one pod; two ranks in all."""
        path = self.directory / f"run-{node_rank}.yaml"
        path.write_text(yaml.safe_dump(document))
        topology = {
            "NNODES": str(nodes),
            "NODE_RANK": str(node_rank),
            "NPROC_PER_NODE": str(2 // nodes),
            "MASTER_ADDR": master,
            "MASTER_PORT": str(port or free_port()),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "trainer", "run", "--config", str(path)],
            env={**os.environ, **topology},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, document: dict[str, Any]) -> tuple[int, str, str]:
        """Run to the end; returns exit code, stdout and stderr."""
        process = self.start(document)
        out, err = process.communicate()
        return process.returncode, out, err


@pytest.fixture
def entrypoint(tmp_path: Path) -> Entrypoint:
    return Entrypoint(tmp_path)


@pytest.fixture
def free_port_number() -> int:
    return free_port()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def losses() -> Callable[[Path], dict[int, float]]:
    """Reads the training loss of each step, bit for bit, from a metrics file."""

    def read(output: Path) -> dict[int, float]:
        lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
        return {line["step"]: line["loss"] for line in lines if line["kind"] == "train"}

    return read
