"""A stack file is one typed object; a mistake in it is one clear error that names the field."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.errors import InvalidInput
from infra.paths import REPOSITORY
from infra.settings.reader import read_stack_object, read_yaml
from infra.settings.stack import load_stack, parse_stack


def stack() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "sites": [{"kind": "local", "name": "local", "pools": [{"name": "workers", "placement": "shared"}]}],
        "teams": [{"name": "research", "quota": {"cpu": "2", "memory": "8Gi"}}],
        "datasets": [{"name": "docs"}],
        "runs": [
            {
                "name": "first",
                "nodes": 2,
                "cards_per_node": 1,
                "resources": {"cpu": "400m", "memory": "3Gi"},
                "storage": {"dataset": "docs"},
            }
        ],
    }


def changed(path: str, value: Any) -> dict[str, Any]:
    content = stack()
    *parents, last = path.split(".")
    place: Any = content
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[int(last) if last.isdigit() else last] = value
    return content


def test_a_stack_without_mistakes_is_accepted_and_frozen() -> None:
    settings = parse_stack(stack(), origin="file")
    assert settings.team_of(settings.runs[0]).name == "research"
    with pytest.raises(ValueError, match="frozen"):
        settings.schema_version = 2  # type: ignore[assignment, misc]


def test_the_files_of_the_repository_are_valid() -> None:
    files = sorted((REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
    assert files
    for file in files:
        load_stack(file.name.split(".")[1])


MISTAKES = [
    ("schema_version", 2, "schema_version"),
    ("shema_version", 1, "shema_version: no such field"),
    ("sites", [], "sites"),
    ("sites.0.kind", "aws", "sites[0].kind"),
    ("sites.0.pools.0.num_nodes", 0, "sites[0].pools[0].num_nodes"),
    ("sites.0.pools.0.placement", "anywhere", "sites[0].pools[0].placement"),
    ("teams.0.name", "Research Team", "teams[0].name"),
    ("teams.0.quota.memory", "8 gigs", "teams[0].quota.memory: not a quantity"),
    ("teams", [{"name": "a", "quota": {"cpu": 1, "memory": 1}}] * 2, "'a' is declared twice"),
    ("datasets.0.version", "latest", "datasets[0].version"),
    ("runs", {}, "runs: expected a list"),
    ("runs.0.nodes", 0, "runs[0]: nodes"),
    ("runs.0.nodes", 20, "exceed the quota 2 of queue research"),
    ("runs.0.queue", "sales", "'sales' is not a team of this stack; use one of research"),
    ("runs.0.storage.dataset", "dcos", "'dcos' is not a data set of this stack (docs)"),
    ("runs.0.checkpoint", {"interval_steps": 0}, "checkpoint.interval_steps"),
    ("runs.0.checkpoint", {"keep_last": 0}, "checkpoint.keep_last"),
    ("runs.0.parallelism", {"tensor": 2}, "the built-in trainer takes 1 only"),
    ("runs.0.training", {"num_step": 3}, "training.num_step: no such field"),
    ("runs.0.training", {"global_batch_sequences": 10}, "training.global_batch_sequences"),
    ("runs.0.model", {"num_heads": 7}, "model: dim 256 is not divisible by num_heads 7"),
    ("runs.0.time_limit", "2 hours", "time_limit: write a duration as"),
    ("runs.0.purpose", "experiment", "an experiment needs one"),
]


@pytest.mark.parametrize(("path", "value", "said"), MISTAKES)
def test_a_mistake_is_named(path: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_stack(changed(path, value), origin="stacks/Pulumi.x.yaml")
    assert said in str(raised.value)
    assert str(raised.value).startswith("stacks/Pulumi.x.yaml: ")
    assert raised.value.exit_code == 2


FILES = [
    ("a: 1\na: 2\n", "line 2: key 'a' is given twice"),
    ("a: [1\n", "line 2"),
    ("on: 1\n", "key True is not text"),
    ("a: \x07\n", "special characters are not allowed"),
]


@pytest.mark.parametrize(("text", "said"), FILES)
def test_yaml_traps_are_named_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as raised:
        read_yaml(file)
    assert str(file) in str(raised.value)
    assert said in str(raised.value)


def test_an_unknown_stack_lists_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"use one of: .*local"):
        read_stack_object("prdo")


def test_the_schema_of_the_stack_file_names_its_fields() -> None:
    content = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.local.yaml").read_text())
    from infra.settings.stack import StackSettings

    schema = StackSettings.model_json_schema()
    assert set(content["config"]["trainyard:stack"]) <= set(schema["properties"])
