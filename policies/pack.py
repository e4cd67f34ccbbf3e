"""The pack as Pulumi sees it: every policy is mandatory, and what a preview cannot know does not pass."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import TextIOWrapper
from typing import Final, NamedTuple

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from policies import expiry, images, pod_security, protected_results, protected_stack, resources
from policies.reading import UNKNOWN, Manifest

NAME: Final = "trainyard"
PROVIDER: Final = "kubernetes:"
COMPONENTS: Final = tuple(
    PROVIDER + name for name in ("yaml", "kustomize", "helm.sh/v3:Chart", "helm.sh/v4:Chart")
)


class Concern(NamedTuple):
    """A policy over single resources."""

    name: str
    description: str
    validate: Callable[[Manifest], list[str]]


CONCERNS: Final = (
    Concern("pod-security", "Pods and namespaces hold to Pod Security 'restricted'.", pod_security.validate),
    Concern("pinned-images", "Images are named by digest or by a content tag.", images.validate),
    Concern("container-resources", "Containers request cpu and memory, limit memory.", resources.validate),
    Concern("run-expiry", "Runs declare a purpose, and experiments a time limit.", expiry.validate),
    Concern("protected-results", "Checkpoints and results survive deletion.", protected_results.validate),
)


def serve() -> None:
    """Serve the pack to the Pulumi engine, which ends the process."""
    # The port must reach the engine at once, also where the interpreter buffers its output.
    sys.stdout = TextIOWrapper(os.fdopen(os.dup(1), "wb", buffering=0), write_through=True)
    PolicyPack(name=NAME, policies=policies(), enforcement_level=EnforcementLevel.MANDATORY)


def policies() -> list[Policy]:
    """One resource policy a concern, and one for what only the whole stack shows."""
    stack = StackValidationPolicy(
        name="protected-results-stack",
        description="Checkpoints lie on claims whose volumes are protected.",
        validate=_judge_stack,
        enforcement_level=EnforcementLevel.MANDATORY,
    )
    return [*map(_resource_policy, CONCERNS), stack]


def manifest_of(resource_type: str, props: Mapping[str, object]) -> Manifest | None:
    """The Kubernetes object of a resource, `UNKNOWN` where a value is not known yet; None for anything else.

    Components are None too: each object they make is a resource of its own.
    """
    if not resource_type.startswith(PROVIDER) or resource_type.startswith(COMPONENTS):
        return None
    _, version, kind = resource_type.split(":", 2)
    manifest = _plain(props)
    assert isinstance(manifest, dict)
    for key, value in (("apiVersion", version.removeprefix("core/")), ("kind", kind)):
        if not isinstance(manifest.get(key), str):
            manifest[key] = value
    return manifest


def _resource_policy(concern: Concern) -> Policy:
    def judge(args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        manifest = manifest_of(args.resource_type, args.props)
        for message in concern.validate(manifest) if manifest else ():
            report_violation(message, None)

    return ResourceValidationPolicy(
        name=concern.name,
        description=concern.description,
        validate=judge,
        enforcement_level=EnforcementLevel.MANDATORY,
    )


def _judge_stack(args: StackValidationArgs, report_violation: ReportViolation) -> None:
    found = (manifest_of(resource.resource_type, resource.props) for resource in args.resources)
    for message in protected_stack.validate_stack([manifest for manifest in found if manifest]):
        report_violation(message, None)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _known(partial(value.__getitem__, key)) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_known(partial(value.__getitem__, index)) for index in range(len(value))]
    return value


def _known(read: Callable[[], object]) -> object:
    """The SDK's views raise where a value is unknown; uncaught, that would turn the policy into advice."""
    try:
        return _plain(read())
    except UnknownValueError:
        return UNKNOWN
