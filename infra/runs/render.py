"""Renders a run's Kubernetes manifests from Jinja templates; pure, so it needs no cluster and no state."""

from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from infra.runs import resolve as resolved
from infra.runs.resolve import ResolvedRun
from infra.settings.quantity import amount

TEMPLATES = ("serviceaccount.yaml.j2", "configmap.yaml.j2", "jobset.yaml.j2")
NEVER_RETRY_EXIT_CODE = 78
USER_ID = 10001


def render_run(run: ResolvedRun) -> list[dict[str, Any]]:
    """The run's manifests in the order in which they are to be created."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    context = _context(run)
    return [_parsed(environment.get_template(name).render(context), template=name) for name in TEMPLATES]


def to_yaml(documents: list[dict[str, Any]]) -> str:
    """Manifests as one YAML stream, with keys in the order of the templates."""
    return yaml.dump_all(
        documents, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=110, explicit_start=True
    )


class _BlockDumper(yaml.SafeDumper):
    """Writes text of several lines as a block, so that people can read the run file inside a ConfigMap."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_BlockDumper.add_representer(str, _text)


def _context(run: ResolvedRun) -> dict[str, Any]:
    return {
        "run": run,
        "spec": run.spec,
        "labels": run.labels,
        "config_yaml": yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True, width=110),
        "env": _env(run),
        "resources": _resources(run),
        "command": list(run.spec.command) if run.spec.command else None,
        "max_restarts": run.spec.max_restarts if run.spec.auto_restart else 0,
        "never_retry_exit_code": NEVER_RETRY_EXIT_CODE,
        "user_id": USER_ID,
        "config_path": resolved.CONFIG_PATH,
        "config_directory": resolved.CONFIG_PATH.rpartition("/")[0],
        "master_port": resolved.MASTER_PORT,
        "metrics_port": resolved.METRICS_PORT,
    }


def _env(run: ResolvedRun) -> list[dict[str, Any]]:
    rank = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
    threads = max(1, int(amount(run.spec.resources.cpu) // run.spec.cards_per_node))
    injected: dict[str, Any] = {
        "TRAINYARD_RUN_ID": run.id,
        "NNODES": str(run.spec.nodes),
        "NPROC_PER_NODE": str(run.spec.cards_per_node),
        "MASTER_ADDR": f"{run.id}-worker-0-0.{run.id}",
        "MASTER_PORT": str(resolved.MASTER_PORT),
        "OMP_NUM_THREADS": str(threads),
        "HOME": "/tmp",
    }
    values = [{"name": name, "value": value} for name, value in {**run.spec.env, **injected}.items()]
    return [{"name": "NODE_RANK", "valueFrom": rank}, *values]


def _resources(run: ResolvedRun) -> dict[str, dict[str, str]]:
    devices = {run.accelerator.resource: str(run.spec.cards_per_node)} if run.accelerator.resource else {}
    limits = {"memory": run.spec.resources.memory, **devices}
    # No cpu limit: throttling a worker slows every other one at the next all-reduce.
    return {"requests": {"cpu": run.spec.resources.cpu, **limits}, "limits": limits}


def _parsed(text: str, *, template: str) -> dict[str, Any]:
    document = yaml.safe_load(text)
    missing = {"apiVersion", "kind", "metadata"} - set(document)
    if missing:
        raise ValueError(f"{template}: the manifest lacks {', '.join(sorted(missing))}")
    return dict(document)
