"""The plugin's resources as the program declares them."""

from pathlib import Path
from typing import Any

import pulumi

START_TIMEOUT_SECONDS = 100
ADMISSION_TIMEOUT_SECONDS = 60
DEFINITIONS_TIMEOUT_SECONDS = 120


class RunStart(pulumi.CustomResource):
    """Created once the run's pods have started or wait in the queue; fails with the pod's own event."""

    state: pulumi.Output[str]

    def __init__(self, name: str, *, kubeconfig: Path, namespace: str, opts: pulumi.ResourceOptions) -> None:
        properties = {
            "kubeconfig": str(kubeconfig),
            "namespace": namespace,
            "name": name,
            "timeoutSeconds": START_TIMEOUT_SECONDS,
            "state": None,
        }
        super().__init__("trainyard:index:RunStart", name, properties, opts)


class DefinitionsReady(pulumi.CustomResource):
    """Created once the API server serves all custom resource definitions of these names."""

    def __init__(
        self, name: str, *, kubeconfig: Path, names: list[str], opts: pulumi.ResourceOptions
    ) -> None:
        properties = {
            "kubeconfig": str(kubeconfig),
            "names": names,
            "timeoutSeconds": DEFINITIONS_TIMEOUT_SECONDS,
        }
        super().__init__("trainyard:index:DefinitionsReady", name, properties, opts)


class AdmissionReady(pulumi.CustomResource):
    """Created once the webhooks that judge `item` answer; `path` is where such items are created."""

    def __init__(
        self, name: str, *, kubeconfig: Path, path: str, item: dict[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        properties = {
            "kubeconfig": str(kubeconfig),
            "path": path,
            "item": item,
            "timeoutSeconds": ADMISSION_TIMEOUT_SECONDS,
        }
        super().__init__("trainyard:index:AdmissionReady", name, properties, opts)
