"""How a violation reads: which resource, what is wrong, which control asks for it, what to do next."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from policies.pods import CONTAINER_LISTS, PodTemplate, pod_templates
from policies.reading import Manifest, Node, Unjudged


class Problem(NamedTuple):
    """What is wrong and what to do about it, without the resource and the control."""

    text: str
    next_step: str


Problems = Iterable[Problem]
PodRule = Callable[[PodTemplate], Problems]
ContainerRule = Callable[[PodTemplate, Node], Problems]


def report(manifest: Manifest, problems: Problems, *, control: str) -> list[str]:
    """One message a problem, in the order found, without repetitions."""
    resource = resource_name(manifest)
    messages = (f"{resource}: {text} [{control}]\n  next: {next_step}" for text, next_step in problems)
    return list(dict.fromkeys(messages))


def resource_name(manifest: Manifest) -> str:
    """Kind, namespace and name, as far as they are known: `JobSet team-a/first-words-1a2b3c4d`."""
    metadata = manifest.get("metadata")
    names = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, dict) else [None]
    shown = "/".join(str(name) for name in names if name is not None)
    return f"{manifest.get('kind') or 'resource'} {shown or '(no name)'}"


def guarded(problems: Problems) -> Iterator[Problem]:
    """The problems, and one more where a property could not be read."""
    try:
        yield from problems
    except Unjudged as unjudged:
        yield Problem(unjudged.text, unjudged.next_step)


def in_each_pod(
    manifest: Manifest, *, pod_rules: Iterable[PodRule] = (), container_rules: Iterable[ContainerRule] = ()
) -> Iterator[Problem]:
    """Apply rules to every pod template and to every container of it; each rule fails on its own."""
    container_rules = list(container_rules)
    templates = list(_templates_or_problems(manifest))
    for found in templates:
        if isinstance(found, Problem):
            yield found
            continue
        for rule in pod_rules:
            yield from _placed(found.label, guarded(rule(found)))
        yield from _in_each_container(found, container_rules)


def _templates_or_problems(manifest: Manifest) -> Iterator[PodTemplate | Problem]:
    try:
        yield from pod_templates(manifest)
    except Unjudged as unjudged:
        yield Problem(unjudged.text, unjudged.next_step)


def _in_each_container(template: PodTemplate, rules: list[ContainerRule]) -> Iterator[Problem]:
    for field in CONTAINER_LISTS:
        yield from _placed(template.label, guarded(_in_list(template, field, rules)))


def _in_list(template: PodTemplate, field: str, rules: list[ContainerRule]) -> Iterator[Problem]:
    for container in template.spec.items(field):
        label = _container_label(container, field)
        for rule in rules:
            yield from _placed(label, guarded(rule(template, container)))


def _container_label(container: Node, field: str) -> str:
    kind = {"containers": "container", "initContainers": "init container"}.get(field, "ephemeral container")
    name = container.value.get("name") if isinstance(container.value, dict) else None
    return f"{kind} {name!r}" if isinstance(name, str) else f"{kind} at {container.path}"


def _placed(label: str, problems: Problems) -> Iterator[Problem]:
    for text, next_step in problems:
        yield Problem(f"{label}: {text}" if label else text, next_step)
