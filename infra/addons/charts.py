"""Where the charts of the queue controllers come from, and the values that we give them."""

from dataclasses import dataclass, field
from typing import Any

import yaml

from infra import versions
from toolchain import tools

VERSIONS = {"kueue": versions.KUEUE, "jobset": versions.JOBSET}
DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITIONS = {
    "jobset": [f"{DEFINITIONS_PATH}/jobsets.jobset.x-k8s.io"],
    "kueue": [
        f"{DEFINITIONS_PATH}/{kind}.kueue.x-k8s.io"
        for kind in (
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "multikueueclusters",
            "multikueueconfigs",
            "provisioningrequestconfigs",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
            "workloads",
        )
    ],
}
CONTROLLERS = {
    "jobset": "/apis/apps/v1/namespaces/jobset-system/deployments/jobset-controller",
    "kueue": "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager",
}
CONTROLLER_RESOURCES = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


@dataclass(frozen=True)
class Chart:
    """A Helm chart: a directory, or an OCI reference with its version; `image_values` name its image."""

    name: str
    source: str
    version: str | None = None
    image_values: dict[str, Any] = field(default_factory=dict)


def built(name: str) -> Chart:
    """The chart beside the built controller, with the image that was built around it."""
    image = {
        "repository": f"localhost/trainyard/{name}",
        "tag": VERSIONS[name],
        "pullPolicy": "IfNotPresent",
    }
    values = {"image": image} if name == "jobset" else {"controllerManager": {"manager": {"image": image}}}
    return Chart(name, str(tools.chart(name)), image_values=values)


def official(name: str) -> Chart:
    """The project's own chart, whose image it names itself."""
    return Chart(name, f"oci://registry.k8s.io/{name}/charts/{name}", VERSIONS[name].removeprefix("v"))


def merge(values: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Chart values with more of them laid over, mapping by mapping."""
    result = dict(values)
    for key, value in more.items():
        inner = result.get(key)
        result[key] = merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return result


def kueue_values() -> dict[str, Any]:
    """One replica, JobSet only, and every pod of a run ready or the run goes back to the queue."""
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": False},
        "waitForPodsReady": {"timeout": "5m", "blockAdmission": False},
        # The webhook for Jobs, which a JobSet's own Jobs pass through, needs its integration enabled as well.
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
    }
    return {
        "controllerManager": {
            "manager": {"resources": CONTROLLER_RESOURCES},
            "readinessProbe": {"initialDelaySeconds": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(configuration, sort_keys=False)},
    }


def jobset_values() -> dict[str, Any]:
    """One replica without leader election."""
    controller = {"leaderElection": {"enable": False}, "resources": CONTROLLER_RESOURCES}
    return {"controller": controller}
