"""Queueing: JobSet and Kueue, then a queue with a quota for each team; no scheduler of our own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from infra import naming
from infra.addons import charts
from infra.addons.charts import Chart
from infra.provider.resources import AdmissionReady, ConditionsReady
from infra.settings.places import Team

API = "kueue.x-k8s.io/v1beta2"
FLAVOR = "default"
PROBE_JOBSET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "probe"},
    "spec": {
        "replicatedJobs": [
            {
                "name": "probe",
                "template": {
                    "spec": {
                        "template": {
                            "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
                        }
                    }
                },
            }
        ]
    },
}
CONTROLLER, SERVICE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Service"
SERVED_API = "kubernetes:apiregistration.k8s.io/v1:APIService"
PRIORITIES = {"low": -100, "normal": 0, "high": 100}


@dataclass(frozen=True)
class QueueingArgs:
    """The teams that share the cluster; an embedded one gets the controllers that were built for it."""

    teams: Sequence[Team]
    kubeconfig: Path
    embedded: bool


class Queueing(pulumi.ComponentResource):
    """The controllers and the cluster-wide queues."""

    def __init__(self, name: str, args: QueueingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("trainyard:addons:Queueing", name, None, opts)
        source = charts.built if args.embedded else charts.official
        jobset = _controller(source("jobset"), charts.jobset_values(), args, parent=self)
        kueue = _controller(source("kueue"), charts.kueue_values(), args, parent=self)
        answers = AdmissionReady(
            "kueue-admission",
            kubeconfig=args.kubeconfig,
            path="/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
            item={"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "probe"}, "spec": {}},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[kueue]),
        )
        AdmissionReady(
            "jobset-admission",
            kubeconfig=args.kubeconfig,
            path="/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets",
            item=PROBE_JOBSET,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[jobset]),
        )
        after = pulumi.ResourceOptions(parent=self, depends_on=[answers])
        flavor = k8s.apiextensions.CustomResource(
            FLAVOR, api_version=API, kind="ResourceFlavor", metadata={"name": FLAVOR}, spec={}, opts=after
        )
        for level, value in PRIORITIES.items():
            _priority(level, value, opts=after)
        for team in args.teams:
            _cluster_queue(team, parent=self, flavor=flavor)
        self.register_outputs({})


class TeamQueue(pulumi.ComponentResource):
    """The queue in a team's namespace; runs name it in a label."""

    def __init__(self, name: str, team: Team, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("trainyard:addons:TeamQueue", name, None, opts)
        k8s.apiextensions.CustomResource(
            name,
            api_version=API,
            kind="LocalQueue",
            metadata={"name": team.name, "namespace": naming.namespace(team.name)},
            spec={"clusterQueue": naming.cluster_queue(team.name)},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})


def _controller(
    chart: Chart, values: dict[str, Any], args: QueueingArgs, *, parent: pulumi.Resource
) -> pulumi.Resource:
    name = chart.name
    namespace = k8s.core.v1.Namespace(
        f"{name}-system",
        metadata={"name": f"{name}-system", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        opts=pulumi.ResourceOptions(parent=parent),
    )
    within = pulumi.ResourceOptions(parent=parent)
    definitions = ConditionsReady(
        f"{name}-definitions",
        kubeconfig=args.kubeconfig,
        paths=charts.DEFINITIONS[name],
        condition="Established",
        opts=within,
    )
    controller = ConditionsReady(
        f"{name}-controller",
        kubeconfig=args.kubeconfig,
        paths=[charts.CONTROLLERS[name]],
        condition="Available",
        opts=within,
    )
    return k8s.helm.v4.Chart(
        name,
        namespace=f"{name}-system",
        chart=chart.source,
        version=chart.version,
        values=charts.merge(values, chart.image_values),
        opts=pulumi.ResourceOptions(
            parent=parent, depends_on=[namespace], transforms=[_in_order(definitions, controller)]
        ),
    )


def _in_order(definitions: pulumi.Resource, controller: pulumi.Resource) -> pulumi.ResourceTransform:
    """The controller after its definitions, and last the API that it serves.

    A controller that starts before its definitions fails and backs off. An API that is announced before
    somebody serves it slows down whoever asks which APIs there are, as the provider does all the time.
    """
    first = {CONTROLLER: definitions, SERVED_API: controller}

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        props = _without_waiting(args.props) if args.type_ in (SERVICE, SERVED_API) else args.props
        after = pulumi.ResourceOptions(depends_on=[first[args.type_]] if args.type_ in first else [])
        return pulumi.ResourceTransformResult(props, pulumi.ResourceOptions.merge(args.opts, after))

    return transform


def _without_waiting(props: Mapping[str, Any]) -> dict[str, Any]:
    """Services count as created at once: AdmissionReady asks whether they work, ten quiet seconds do not."""
    annotations = {**props["metadata"].get("annotations", {}), "pulumi.com/skipAwait": "true"}
    return {**props, "metadata": {**props["metadata"], "annotations": annotations}}


def _priority(level: str, value: int, *, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    return k8s.yaml.v2.ConfigGroup(
        f"priority-{level}",
        objs=[
            {
                "apiVersion": API,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": level},
                "value": value,
                "description": f"Runs of {level} priority",
            }
        ],
        opts=opts,
    )


def _cluster_queue(team: Team, *, parent: pulumi.Resource, flavor: pulumi.Resource) -> pulumi.Resource:
    quotas = [
        {"name": "cpu", "nominalQuota": team.quota.cpu},
        {"name": "memory", "nominalQuota": team.quota.memory},
    ]
    return k8s.apiextensions.CustomResource(
        naming.cluster_queue(team.name),
        api_version=API,
        kind="ClusterQueue",
        metadata={"name": naming.cluster_queue(team.name)},
        spec={
            "namespaceSelector": {
                "matchLabels": {"kubernetes.io/metadata.name": naming.namespace(team.name)}
            },
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {"coveredResources": ["cpu", "memory"], "flavors": [{"name": FLAVOR, "resources": quotas}]}
            ],
        },
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[flavor]),
    )
