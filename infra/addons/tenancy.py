"""Tenancy: a namespace a team under Pod Security `restricted`, with the site's volumes in it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from infra import naming
from infra.sites.site import Volume

CAPACITY = "100Gi"


@dataclass(frozen=True)
class TenancyArgs:
    """Whose namespace, and which volumes it gets."""

    stack: str
    team: str
    volumes: Sequence[Volume]


class Tenancy(pulumi.ComponentResource):
    """The namespace and the volume claims of one team."""

    namespace: pulumi.Output[str]

    def __init__(self, name: str, args: TenancyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("trainyard:addons:Tenancy", name, None, opts)
        namespace = k8s.core.v1.Namespace(
            name,
            metadata={"name": naming.namespace(args.team), "labels": _namespace_labels(args)},
            opts=pulumi.ResourceOptions(parent=self),
        )
        for volume in args.volumes:
            _claim(args, volume, parent=self, namespace=namespace)
        self.namespace = namespace.metadata.name
        self.register_outputs({"namespace": self.namespace})


def _namespace_labels(args: TenancyArgs) -> dict[str, str]:
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return levels | {f"{naming.DOMAIN}/stack": args.stack, f"{naming.DOMAIN}/team": args.team}


def _claim(args: TenancyArgs, volume: Volume, *, parent: pulumi.Resource, namespace: pulumi.Resource) -> None:
    name = naming.volume(args.stack, args.team, volume.kind)
    labels = {f"{naming.DOMAIN}/stack": args.stack, f"{naming.DOMAIN}/results": str(volume.results).lower()}
    mode = "ReadOnlyMany" if volume.read_only else "ReadWriteMany"
    persistent = k8s.core.v1.PersistentVolume(
        name,
        metadata={"name": name, "labels": labels},
        spec={
            "capacity": {"storage": CAPACITY},
            "access_modes": [mode],
            "persistent_volume_reclaim_policy": "Retain",
            "storage_class_name": "",
            "host_path": {"path": str(volume.path), "type": "Directory"},
            "claim_ref": {"namespace": naming.namespace(args.team), "name": volume.kind},
        },
        opts=pulumi.ResourceOptions(parent=parent),
    )
    k8s.core.v1.PersistentVolumeClaim(
        name,
        metadata={"name": volume.kind, "namespace": naming.namespace(args.team), "labels": labels},
        spec={
            "access_modes": [mode],
            "storage_class_name": "",
            "volume_name": name,
            "resources": {"requests": {"storage": CAPACITY}},
        },
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[namespace, persistent]),
    )
