"""The record of a run: what it was, what it ran on, how it ended; kept in the vault.

A record is written again whenever more is known, so it survives a run that dies; the curves lie beside it.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from infra import paths
from infra.errors import TrainyardError
from infra.kube import condition

COPIED = ("metrics.jsonl", "environment.json", "summary.json")


def record_dir(run_id: str) -> Path:
    """Where the record of a run lies in the local vault."""
    return paths.vault_dir() / "records" / run_id


def output_dir(run_id: str) -> Path:
    """Where a run writes its metrics on the local site."""
    return paths.state_dir() / "site" / "output" / run_id


def checkpoint_dir(run_id: str) -> Path:
    """Where a run writes its checkpoints in the local vault."""
    return paths.vault_dir() / "checkpoints" / run_id


def build_record(
    *,
    stack: str,
    jobset: dict[str, Any],
    stopped: bool,
    config: dict[str, Any],
    pods: list[dict[str, Any]],
    image_digest: str | None,
    git: dict[str, Any],
    data_version: str | None,
    output: Path,
    checkpoints: Path,
) -> dict[str, Any]:
    """The record as plain data, from the run's objects in the cluster and the files that it wrote."""
    job = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]
    summary, environment = _json(output / "summary.json"), _json(output / "environment.json")
    status = _status(jobset, stopped=stopped)
    return {
        "schema_version": 1,
        "run_id": jobset["metadata"]["name"],
        "name": config["run"]["name"],
        "stack": stack,
        "stage": config["run"]["stage"],
        "status": status,
        "exit": (summary or {}).get("exit") if status == "finished" else _failure(jobset),
        "started_at": _first_start(pods) or jobset["metadata"]["creationTimestamp"],
        "ended_at": _ended_at(jobset),
        "configuration": config,
        "image": job["template"]["spec"]["containers"][0]["image"],
        "image_digest": image_digest,
        "git_commit": git.get("commit"),
        "git_dirty": git.get("dirty"),
        "data": {
            "name": Path(config["data"]["dataset"]).name,
            "version": (summary or {}).get("data_version") or data_version,
        },
        "seed": config["run"]["seed"],
        "packages": (environment or {}).get("packages", {}),
        "layout": _layout(config, job),
        "summary": summary,
        "checkpoint": _checkpoint(checkpoints, (summary or {}).get("final_checkpoint")),
        "attempts": int((jobset.get("status") or {}).get("restarts", 0)) + 1,
    }


def write_record(record: dict[str, Any], *, output: Path, destination: Path) -> Path:
    """Put the record and the run's curves into the vault; each file is replaced whole or not at all."""
    for name in COPIED:
        if (output / name).exists():
            replace(destination / name, (output / name).read_bytes())
    replace(destination / "run.yaml", yaml.safe_dump(record["configuration"], sort_keys=False).encode())
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    replace(destination / "record.json", text.encode())
    return destination / "record.json"


def merge_record(known: dict[str, Any] | None, seen: dict[str, Any]) -> dict[str, Any]:
    """The record to keep: a finished run's stands when seen again, and a run began with its first attempt."""
    if known is None:
        return seen
    if known["status"] == "finished" and known["summary"] == seen["summary"]:
        return known
    return seen | {"started_at": min(known["started_at"], seen["started_at"])}


def known_record(run_id: str) -> dict[str, Any] | None:
    """The record in the vault, if there is one."""
    path = record_dir(run_id) / "record.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def read_record(run_id: str) -> dict[str, Any]:
    """The record in the vault; raises `TrainyardError` when there is none."""
    record = known_record(run_id)
    if record is None:
        known = (
            ", ".join(sorted(p.parent.name for p in record_dir("x").parent.glob("*/record.json"))) or "none"
        )
        raise TrainyardError(
            f"no record of run {run_id!r} in the vault (there is: {known})", next_step="trainyard status"
        )
    return record


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file; a last line that was cut short is left out."""
    if not path.exists():
        return []
    return list(_whole_lines(path.read_text(encoding="utf-8").splitlines()))


def replace(path: Path, content: bytes) -> None:
    """Replace a file whole or not at all, its directory made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.staged")
    with staged.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)


def _whole_lines(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _status(jobset: dict[str, Any], *, stopped: bool) -> str:
    if condition(jobset, "Completed"):
        return "finished"
    if condition(jobset, "Failed"):
        return "failed"
    return "stopped" if stopped else "running"


def _failure(jobset: dict[str, Any]) -> str | None:
    failed = condition(jobset, "Failed")
    return str(failed.get("message")) if failed else None


def _ended_at(jobset: dict[str, Any]) -> str | None:
    ended = condition(jobset, "Completed") or condition(jobset, "Failed")
    return str(ended["lastTransitionTime"]) if ended else None


def _first_start(pods: list[dict[str, Any]]) -> str | None:
    starts = [pod["status"]["startTime"] for pod in pods if (pod.get("status") or {}).get("startTime")]
    return min(starts, default=None)


def _layout(config: dict[str, Any], job: dict[str, Any]) -> dict[str, int]:
    degrees = config["parallel"]
    world_size = degrees["data"] * degrees["tensor"] * degrees["pipeline"]
    return {
        "nodes": job["parallelism"],
        "cards_per_node": world_size // job["parallelism"],
        **degrees,
        "world_size": world_size,
    }


def _checkpoint(checkpoints: Path, final: str | None) -> dict[str, Any] | None:
    whole = sorted(marker.parent for marker in checkpoints.glob("step-*/COMMITTED"))
    path = checkpoints / final if final else next(reversed(whole), None)
    if path not in whole:
        return None
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    return {"path": str(path), "step": int(path.name.rpartition("-")[2]), "num_bytes": size}


def _json(path: Path) -> dict[str, Any] | None:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
