"""The plugin's resources as the program declares them."""

from pathlib import Path
from typing import Any

import pulumi

START_TIMEOUT_SECONDS = 100
ADMISSION_TIMEOUT_SECONDS = 60
CONDITIONS_TIMEOUT_SECONDS = 180


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


class ConditionsReady(pulumi.CustomResource):
    """Created once the objects at all API paths exist and their condition of a type is true."""

    def __init__(
        self, name: str, *, kubeconfig: Path, paths: list[str], condition: str, opts: pulumi.ResourceOptions
    ) -> None:
        properties = {
            "kubeconfig": str(kubeconfig),
            "paths": paths,
            "condition": condition,
            "timeoutSeconds": CONDITIONS_TIMEOUT_SECONDS,
        }
        super().__init__("trainyard:index:ConditionsReady", name, properties, opts)


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
