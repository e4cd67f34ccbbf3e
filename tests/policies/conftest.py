"""Manifests that pass every policy, and a way to put one mistake into a copy."""

import copy
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

Manifest = dict[str, Any]
Edited = Callable[..., Manifest]
IMAGE = "localhost/trainyard/trainer:0123456789ab"


def _container(name: str) -> Manifest:
    return {
        "name": name,
        "image": IMAGE,
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}],
    }


@pytest.fixture
def pod_spec() -> Manifest:
    return {
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [_container("verify-data")],
        "containers": [_container("trainer")],
        "volumes": [
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }


@pytest.fixture
def pod(pod_spec: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "team-a"},
        "spec": pod_spec,
    }


@pytest.fixture
def run(pod_spec: Manifest) -> Manifest:
    """A training run of one replicated job."""
    job = {"name": "worker", "template": {"spec": {"template": {"spec": pod_spec}}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": "first-words-1a2b3c4d",
            "namespace": "team-a",
            "labels": {"trainyard.dev/purpose": "training"},
        },
        "spec": {"replicatedJobs": [job]},
    }


@pytest.fixture
def edited() -> Edited:
    """`edited(manifest, path, value)`: a copy with one value set, or removed where the value is `...`."""

    def edit(manifest: Mapping[str, Any], path: tuple[str | int, ...], value: object) -> Manifest:
        result = copy.deepcopy(dict(manifest))
        node: Any = result
        for key, following in itertools.pairwise(path):
            if isinstance(key, int) and key == len(node):
                node.append({})
            elif isinstance(key, str) and key not in node:
                node[key] = [] if isinstance(following, int) else {}
            node = node[key]
        if value is ...:
            del node[path[-1]]
        elif isinstance(path[-1], int) and path[-1] == len(node):
            node.append(value)
        else:
            node[path[-1]] = value
        return result

    return edit
