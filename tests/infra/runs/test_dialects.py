"""Job files that teams already have are accepted as they stand, and mistakes in them are named."""

from pathlib import Path

import pytest
import yaml

from infra.errors import InvalidInput
from infra.runs.dialects import parse_run, read_run_file

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_the_sample_in_sections_is_accepted_as_it_stands() -> None:
    run = read_run_file(FIXTURES / "sections-run.yaml")
    assert (run.name, run.nodes, run.cards_per_node, run.world_size) == ("llm_train", 16, 8, 128)
    assert (run.parallelism.tensor, run.parallelism.pipeline, run.data_parallel) == (4, 2, 16)
    assert run.storage.dataset == "对象存储数据集路径"
    assert run.storage.checkpoint == "并行文件系统checkpoint路径"
    assert run.checkpoint.interval_steps == 1000
    assert run.auto_restart is True
    assert run.metrics == ("loss", "tokens_per_second", "mem_util", "net_bw")


def test_the_nested_sample_is_accepted_as_it_stands() -> None:
    run = read_run_file(FIXTURES / "nested-run.yaml")
    assert (run.name, run.queue, run.priority) == ("train-job", "research", "high")
    assert (run.nodes, run.cards_per_node, run.data_parallel) == (64, 8, 512)
    assert (run.resources.cpu, run.resources.memory) == ("32", "256Gi")
    assert (run.storage.dataset, run.storage.checkpoint) == (
        "/mnt/data/dataset-v3",
        "/mnt/checkpoints/run-042",
    )
    assert run.env == {"PARALLEL_MODE": "hybrid", "CHECKPOINT_INTERVAL": "500"}
    assert run.command == ("run_train.sh", "--config", "/workspace/config/train.yaml")


SECTIONS_MISTAKES = [
    ("parallelism", "data_parallel", 8, "set data to 16"),
    ("parallelism", "tensor_parallel", 3, "not divisible by tensor 3"),
    ("parallelism", "tensor_paralel", 4, "parallelism.tensor_paralel: no such field"),
    ("resources", "nodes", 0, "nodes"),
    ("resources", "gpus", 8, "resources.gpus: no such field"),
    ("storage", "dataset", "../other-team", "storage.dataset"),
    ("recovery", "checkpoint_interval_steps", 0, "checkpoint.interval_steps"),
    ("recovery", "auto_restart", "sometimes", "auto_restart"),
]


@pytest.mark.parametrize(("section", "field", "value", "said"), SECTIONS_MISTAKES)
def test_a_mistake_in_sections_is_named(section: str, field: str, value: object, said: str) -> None:
    job = yaml.safe_load((FIXTURES / "sections-run.yaml").read_text(encoding="utf-8"))
    job[section][field] = value
    with pytest.raises(InvalidInput) as raised:
        parse_run(job, origin="job.yaml")
    assert said in str(raised.value)
    assert str(raised.value).startswith("job.yaml: ")


NESTED_MISTAKES = [
    ("replicas", {"workers": 64}, "task.replicas.workers: no such field"),
    ("replicas", 64, "task.replicas: expected a mapping"),
    ("priority", "urgent", "priority"),
    ("env", {"A": "b"}, "task.env: expected a list"),
    ("env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "A is given twice"),
    ("env", [{"name": "A-B", "value": "1"}], "not the name of an environment variable"),
    ("env", [{"name": "A", "value": True}], "quote the value"),
    ("resources", {"accelerator": 8, "memory": "lots"}, "resources.memory: not a quantity"),
    ("resources", {"accelerator": 8, "cpu": -1}, "resources.cpu: not a quantity"),
    ("storage", {"data_path": "/"}, "storage.dataset"),
    ("image", "x", "task.image: no such field"),
]


@pytest.mark.parametrize(("field", "value", "said"), NESTED_MISTAKES)
def test_a_mistake_in_the_nested_form_is_named(field: str, value: object, said: str) -> None:
    job = yaml.safe_load((FIXTURES / "nested-run.yaml").read_text(encoding="utf-8"))
    job["task"][field] = value
    with pytest.raises(InvalidInput) as raised:
        parse_run(job, origin="job.yaml")
    assert said in str(raised.value)


@pytest.mark.parametrize("value", [None, [], "x", {"task": 3}])
def test_what_is_no_run_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        parse_run(value, origin="job.yaml")
