"""Brings what a run left behind into the vault: its record, its curves and its workers' logs."""

import json
from pathlib import Path
from typing import Any

import yaml

from infra import paths, provenance
from infra.errors import TrainyardError
from infra.kube import ApiError, Cluster, jobset_path
from infra.naming import DOMAIN
from infra.runs import records
from infra.runs.start import is_stopped, observe


def declared_runs(cluster: Cluster, *, stack: str) -> list[dict[str, Any]]:
    """The JobSets of the stack in all of its teams' namespaces, oldest first."""
    found = cluster.list("/apis/jobset.x-k8s.io/v1alpha2/jobsets", labels=f"{DOMAIN}/stack={stack}")
    return sorted(found, key=lambda jobset: str(jobset["metadata"]["creationTimestamp"]))


def look_up(cluster: Cluster, run: str, *, stack: str) -> dict[str, Any] | None:
    """The JobSet of a run, by its id or name (then the newest), if the cluster has it."""
    matching = [
        jobset
        for jobset in declared_runs(cluster, stack=stack)
        if run in (jobset["metadata"]["name"], jobset["metadata"]["labels"][f"{DOMAIN}/run"])
    ]
    return matching[-1] if matching else None


def find_run(cluster: Cluster, run: str, *, stack: str) -> dict[str, Any]:
    """The JobSet of a run as `look_up` finds it; raises `TrainyardError` with the choices."""
    found = look_up(cluster, run, stack=stack)
    if found is None:
        names = ", ".join(j["metadata"]["name"] for j in declared_runs(cluster, stack=stack)) or "none"
        raise TrainyardError(
            f"stack {stack} runs no {run!r} in its cluster (there is: {names})", next_step="trainyard status"
        )
    return found


def pods_of(cluster: Cluster, jobset: dict[str, Any]) -> list[dict[str, Any]]:
    """The run's pods, by rank."""
    metadata = jobset["metadata"]
    labels = f"jobset.sigs.k8s.io/jobset-name={metadata['name']}"
    pods = cluster.list(f"/api/v1/namespaces/{metadata['namespace']}/pods", labels=labels)
    return sorted(pods, key=lambda pod: (rank_of(pod), str(pod["metadata"].get("creationTimestamp"))))


def rank_of(pod: dict[str, Any]) -> int:
    """The worker's index within its run."""
    return int(pod["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index", 0))


def archive_run(cluster: Cluster, jobset: dict[str, Any], *, stack: str) -> dict[str, Any]:
    """Write the run's record, curves and logs into the vault; safe to repeat; returns the record."""
    run_id, namespace = jobset["metadata"]["name"], jobset["metadata"]["namespace"]
    current = cluster.get(jobset_path(namespace, run_id)) or jobset
    pods = pods_of(cluster, current)
    config = _config(cluster, namespace, run_id)
    output, destination = records.output_dir(run_id), records.record_dir(run_id)
    seen = records.build_record(
        stack=stack,
        jobset=current,
        stopped=is_stopped(observe(cluster, namespace, run_id).workload),
        config=config,
        pods=pods,
        image_digest=image_digest(
            current["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        ),
        git=provenance.read(current),
        data_version=config["data"].get("version") or _vault_version(Path(config["data"]["dataset"]).name),
        output=output,
        checkpoints=records.checkpoint_dir(Path(config["checkpoint"]["directory"]).name),
    )
    record = records.merge_record(records.known_record(run_id), seen)
    _copy_logs(cluster, namespace, pods, destination=destination)
    records.write_record(record, output=output, destination=destination)
    return record


def image_digest(pod_spec: dict[str, Any]) -> str | None:
    """The digest that the pod's image was built as, from the lock that building wrote."""
    lock = paths.store_dir() / "images" / "images.lock"
    if not lock.exists():
        return None
    digests = json.loads(lock.read_text(encoding="utf-8"))
    found = digests.get(pod_spec["containers"][0]["image"])
    return str(found) if found else None


def _config(cluster: Cluster, namespace: str, run_id: str) -> dict[str, Any]:
    found = cluster.get(f"/api/v1/namespaces/{namespace}/configmaps/{run_id}")
    if found is None:
        raise TrainyardError(f"run {run_id}: its ConfigMap is gone, so its record cannot be written")
    return dict(yaml.safe_load(found["data"]["run.yaml"]))


def _vault_version(dataset: str) -> str | None:
    manifest = paths.vault_dir() / "data" / dataset / "manifest.json"
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"]) if manifest.exists() else None


def _copy_logs(cluster: Cluster, namespace: str, pods: list[dict[str, Any]], *, destination: Path) -> None:
    for pod in pods:
        if not _has_log(pod):
            continue
        try:
            lines = list(cluster.log_lines(namespace, pod["metadata"]["name"], container="trainer"))
        except ApiError as error:
            if error.passing:
                raise
            continue
        text = "".join(f"{line}\n" for line in lines)
        records.replace(destination / f"worker-{rank_of(pod)}.log", text.encode())


def _has_log(pod: dict[str, Any]) -> bool:
    """Whether the trainer's container has ever run; a pod may end in its init container."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any({"running", "terminated"} & set(container.get("state") or {}) for container in containers)
