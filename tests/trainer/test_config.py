import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from trainer import config
from trainer.errors import ConfigError

CONTRACT = """
schema_version: 1
run: {id: first-words-1a2b3c4d, name: first-words, stage: pretrain, seed: 1234}
model: {dim: 256, num_layers: 6, num_heads: 8, num_kv_heads: 4, hidden_dim: 688, max_sequence_tokens: 256,
        rope_theta: 10000.0, norm_eps: 1.0e-5, tie_embeddings: true}
optimizer: {learning_rate: 1e-3, min_learning_rate_ratio: 0.1, warmup_steps: 20, weight_decay: 0.1,
            beta1: 0.9, beta2: 0.95, clip_norm: 1.0}
training: {num_steps: 200, sequence_tokens: 256, micro_batch_sequences: 8, global_batch_sequences: 16,
           eval_interval_steps: 50, eval_sequences: 64, log_interval_steps: 1}
parallel: {data: 2, tensor: 1, pipeline: 1}
data: {dataset: /data/debian-docs, version: "0123456789ab", cache: /cache, read_timeout_seconds: 60}
checkpoint: {directory: /checkpoints/first-words-1a2b3c4d, interval_steps: 50, keep_last: 2}
output: {directory: /output/first-words-1a2b3c4d}
distributed: {backend: gloo, handshake_timeout_seconds: 120}
metrics: {port: 9400, names: [loss, tokens_per_second]}
"""


def errors_of(document: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        config.parse(document)
    return str(caught.value)


def test_the_contract_loads(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(CONTRACT)
    loaded = config.load(path)
    assert loaded.optimizer.learning_rate == 1e-3
    assert loaded.data.read_timeout_seconds == 60.0
    assert loaded.metrics.names == ("loss", "tokens_per_second")
    assert config.parse(yaml.safe_load(CONTRACT)) == loaded


def test_every_problem_is_one_line_with_its_field() -> None:
    document = yaml.safe_load(CONTRACT)
    document["model"]["num_heads"] = "8"
    document["optimizer"]["learning_rate"] = -1
    document["optimizer"]["momentum"] = 0.9
    del document["output"]
    text = errors_of(document)
    assert "4 problem(s)" in text
    for field in ("model.num_heads: ", "optimizer.learning_rate: ", "output: is required"):
        assert f"\n  {field}" in text
    assert "optimizer.momentum: is not a known field" in text


@pytest.mark.parametrize(
    ("section", "field", "value", "expected"),
    [
        ("training", "global_batch_sequences", 24, "training.global_batch_sequences: 24 is not divisible"),
        ("training", "sequence_tokens", 512, "training.sequence_tokens: 512 exceeds"),
        ("optimizer", "warmup_steps", 201, "optimizer.warmup_steps: 201 exceeds"),
        ("parallel", "tensor", 2, "tensor must be 1: not supported"),
        ("parallel", "pipeline", 2, "pipeline must be 1: not supported"),
        ("model", "num_kv_heads", 3, "not divisible by num_kv_heads"),
        ("model", "dim", 250, "not divisible by num_heads"),
        ("model", "num_heads", 256, "rotary positions need it even"),
        ("data", "version", "latest", "data.version: "),
        ("data", "dataset", "debian-docs", "data.dataset: "),
        ("metrics", "names", ["speed"], "unknown metric speed"),
        ("checkpoint", "keep_last", 0, "checkpoint.keep_last: "),
        ("run", "id", "Not A Name", "run.id: "),
        ("optimizer", "learning_rate", float("nan"), "optimizer.learning_rate: "),
    ],
)
def test_impossible_values_are_refused(section: str, field: str, value: Any, expected: str) -> None:
    document = yaml.safe_load(CONTRACT)
    document[section][field] = value
    assert expected in errors_of(document)


def test_sections_stand_alone_and_cannot_change() -> None:
    section = config.Optimizer(learning_rate="3e-4")  # type: ignore[arg-type]
    assert section.learning_rate == 3e-4
    with pytest.raises(ValidationError):
        section.learning_rate = 1.0  # type: ignore[misc]
    assert config.Metrics.model_validate({"names": ["mem_util", "net_bw"]}).names == (
        "memory_utilization",
        "network_bytes_per_second",
    )


@pytest.mark.parametrize("content", ["run: [", "- a\n- b\n", "\x00", "? [a]\n: b\n"])
def test_a_file_that_is_no_mapping_is_explained(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"run\.yaml"):
        config.load(path)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path / "none.yaml")


@pytest.mark.parametrize("module", ["trainer.config", "trainer.launch", "trainer.data.verify"])
def test_what_others_import_is_light(module: str) -> None:
    code = f"import sys, {module}; print('torch' in sys.modules, 'numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    torch, numpy = result.stdout.split()
    assert torch == "False"
    assert numpy == str(module == "trainer.data.verify")
