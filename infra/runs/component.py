"""A run as a Pulumi component of constant size: its manifests, and the wait until its pods have started."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from infra import provenance
from infra.provider.resources import RunStart
from infra.runs.render import render_run
from infra.runs.resolve import ResolvedRun

CAMEL = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True)
class TrainingRunArgs:
    """The resolved run and how the plugin reaches the cluster."""

    run: ResolvedRun
    kubeconfig: Path


class TrainingRun(pulumi.ComponentResource):
    """One run; `state` says whether it runs or waits in its queue once `up` returns."""

    state: pulumi.Output[str]

    def __init__(self, name: str, args: TrainingRunArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("trainyard:runs:TrainingRun", name, None, opts)
        created: list[pulumi.Resource] = []
        for manifest in render_run(args.run):
            created.append(_create(args.run.id, manifest, parent=self, after=created))
        started = RunStart(
            args.run.id,
            kubeconfig=args.kubeconfig,
            namespace=args.run.namespace,
            opts=pulumi.ResourceOptions(parent=self, depends_on=created),
        )
        self.state = started.state
        self.register_outputs({"state": self.state})


def _create(
    name: str, manifest: dict[str, Any], *, parent: pulumi.Resource, after: list[pulumi.Resource]
) -> pulumi.Resource:
    # The id says what the run declares, so a newer template or commit must not touch a run that exists.
    opts = pulumi.ResourceOptions(
        parent=parent, depends_on=list(after), ignore_changes=["spec", "data", "metadata.annotations"]
    )
    kinds = {"ServiceAccount": k8s.core.v1.ServiceAccount, "ConfigMap": k8s.core.v1.ConfigMap}
    manifest["metadata"].setdefault("annotations", {}).update(provenance.annotations())
    content = {CAMEL.sub("_", key).lower(): value for key, value in manifest.items()}
    kind = kinds.get(manifest["kind"], k8s.apiextensions.CustomResource)
    resource: pulumi.Resource = kind(name, **content, opts=opts)
    return resource
