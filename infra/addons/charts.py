"""Where the charts of the queue controllers come from, and the values that we give them."""

from typing import Any

import yaml

from infra import versions
from toolchain import tools

VERSIONS = {"kueue": versions.KUEUE, "jobset": versions.JOBSET}
CONTROLLER_RESOURCES = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


def source(name: str) -> str:
    """The chart's directory beside the built controller."""
    return str(tools.chart(name))


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
            "manager": {"image": _image("kueue"), "resources": CONTROLLER_RESOURCES},
            "readinessProbe": {"initialDelaySeconds": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(configuration, sort_keys=False)},
    }


def jobset_values() -> dict[str, Any]:
    """One replica without leader election."""
    controller = {"leaderElection": {"enable": False}, "resources": CONTROLLER_RESOURCES}
    return {"image": _image("jobset"), "controller": controller}


def _image(name: str) -> dict[str, str]:
    return {"repository": f"localhost/trainyard/{name}", "tag": VERSIONS[name], "pullPolicy": "IfNotPresent"}
