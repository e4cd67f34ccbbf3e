"""Run files as teams already write them, brought into the form of `RunSpec`.

Two job formats in use are accepted besides our own: one names the run in `task` and has sections for
resources, parallelism, storage and recovery; the other nests everything under `task`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.errors import InvalidInput
from infra.runs.spec import RunSpec
from infra.settings.reader import read_yaml
from infra.settings.section import parse_section


def read_run_file(path: Path) -> RunSpec:
    """The run that a file declares; raises `InvalidInput` naming the file, the field and the cause."""
    return parse_run(read_yaml(path), origin=str(path))


def parse_run(value: Any, *, origin: str) -> RunSpec:
    """A run from plain objects in any of the accepted formats."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{origin}: expected a mapping with the run's fields")
    return parse_section(RunSpec, _to_native(value, origin=origin), origin=origin)


def _to_native(value: Mapping[str, Any], *, origin: str) -> Mapping[str, Any]:
    if "task" not in value:
        return value
    if isinstance(value["task"], str):
        return _from_sections(value, origin=origin)
    if isinstance(value["task"], Mapping):
        _only(value, {"task"}, at="", origin=origin)
        return _from_nested(value["task"], origin=origin)
    raise InvalidInput(f"{origin}: task: expected the run's name or a mapping")


def _from_sections(value: Mapping[str, Any], *, origin: str) -> dict[str, Any]:
    _only(value, {"task", "resources", "parallelism", "storage", "recovery", "monitor"}, at="", origin=origin)
    resources = _mapping(value, "resources", {"nodes", "cards_per_node"}, origin=origin)
    degrees = {"tensor_parallel": "tensor", "pipeline_parallel": "pipeline", "data_parallel": "data"}
    parallelism = _mapping(value, "parallelism", set(degrees), origin=origin)
    storage = _mapping(value, "storage", {"dataset", "checkpoint"}, origin=origin)
    recovery = _mapping(value, "recovery", {"checkpoint_interval_steps", "auto_restart"}, origin=origin)
    native: dict[str, Any] = {
        "name": value["task"],
        **resources,
        "parallelism": {degrees[key]: degree for key, degree in parallelism.items()},
        "storage": storage,
    }
    if "checkpoint_interval_steps" in recovery:
        native["checkpoint"] = {"interval_steps": recovery["checkpoint_interval_steps"]}
    if "auto_restart" in recovery:
        native["auto_restart"] = recovery["auto_restart"]
    monitor = _mapping(value, "monitor", {"metrics"}, origin=origin)
    return native | ({"metrics": monitor["metrics"]} if "metrics" in monitor else {})


def _from_nested(task: Mapping[str, Any], *, origin: str) -> dict[str, Any]:
    fields = {"name", "queue", "priority", "replicas", "resources", "storage", "env", "command"}
    _only(task, fields, at="task.", origin=origin)
    replicas = _mapping(task, "replicas", {"worker"}, origin=origin, at="task.")
    resources = _mapping(task, "resources", {"accelerator", "cpu", "memory"}, origin=origin, at="task.")
    storage = _mapping(task, "storage", {"data_path", "checkpoint_path"}, origin=origin, at="task.")
    native: dict[str, Any] = {
        key: task[key] for key in ("name", "queue", "priority", "command") if key in task
    }
    native["nodes"] = replicas.get("worker")
    native["cards_per_node"] = resources.get("accelerator")
    native["resources"] = {key: resources[key] for key in ("cpu", "memory") if key in resources}
    renamed = {"data_path": "dataset", "checkpoint_path": "checkpoint"}
    native["storage"] = {renamed[key]: path for key, path in storage.items()}
    native["env"] = _env(task.get("env", []), origin=origin)
    return native


def _env(value: Any, *, origin: str) -> dict[str, Any]:
    if not isinstance(value, list) or any(
        not isinstance(i, Mapping) or set(i) != {"name", "value"} for i in value
    ):
        raise InvalidInput(f"{origin}: task.env: expected a list of name and value")
    names = [str(item["name"]) for item in value]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{origin}: task.env: {twice[0]} is given twice")
    return {str(item["name"]): item["value"] for item in value}


def _mapping(
    value: Mapping[str, Any], key: str, fields: set[str], *, origin: str, at: str = ""
) -> Mapping[str, Any]:
    section = value.get(key, {})
    if not isinstance(section, Mapping):
        raise InvalidInput(f"{origin}: {at}{key}: expected a mapping")
    _only(section, fields, at=f"{at}{key}.", origin=origin)
    return section


def _only(section: Mapping[str, Any], fields: set[str], *, at: str, origin: str) -> None:
    unknown = sorted(str(key) for key in section if key not in fields)
    if unknown:
        raise InvalidInput(
            f"{origin}: {at}{unknown[0]}: no such field; allowed here: {', '.join(sorted(fields))}"
        )
