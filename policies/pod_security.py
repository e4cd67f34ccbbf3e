"""Pods and namespaces hold to the `restricted` level of the Kubernetes Pod Security Standards, v1.34.

The rules are those of the admission controller, without its exemption for Windows pods. Judged here too, they
fail a preview instead of a run that is already queued.
"""

import re
from collections.abc import Iterator
from typing import Final

from policies.pods import SYSTEM_NAMESPACES, PodTemplate, pod_templates
from policies.problems import ContainerRule, PodRule, Problem, guarded, in_each_pod, report
from policies.reading import Manifest, Node

CONTROL: Final = "Pod Security Standards, restricted"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
ENFORCE_VERSION: Final = f"{ENFORCE}-version"
OLDEST_VERSION: Final = 34

ALLOWED_VOLUMES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
ALLOWED_PROFILES: Final = ("RuntimeDefault", "Localhost")
ALLOWED_SELINUX_TYPES: Final = (
    None,
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
)
ALLOWED_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
SECURITY: Final = "securityContext"


def validate(manifest: Manifest) -> list[str]:
    """Violations of a namespace, or of the pods that a manifest makes; empty for anything else."""
    return report(manifest, _problems(manifest), control=CONTROL)


def _problems(manifest: Manifest) -> Iterator[Problem]:
    if manifest.get("kind") == "Namespace":
        yield from guarded(_namespace(Node(manifest)))
    elif str(manifest.get("apiVersion")).startswith("helm.sh/"):
        yield Problem(
            "the objects of a Helm release cannot be judged before they are made",
            "use kubernetes.helm.v4.Chart, whose objects are resources of the stack",
        )
    else:
        yield from guarded(_placement(manifest))
        yield from in_each_pod(manifest, pod_rules=POD_RULES, container_rules=CONTAINER_RULES)


def _namespace(namespace: Node) -> Iterator[Problem]:
    if namespace.get("metadata", "name") in SYSTEM_NAMESPACES:
        return
    labels = namespace.at("metadata", "labels")
    level = labels.get(ENFORCE)
    if level != "restricted":
        yield Problem(
            f"label {ENFORCE} is {_shown(level)}, a namespace that runs user code needs 'restricted'",
            f"label it {ENFORCE}: restricted",
        )
    version = labels.get(ENFORCE_VERSION)
    minor = re.fullmatch(r"v1\.(\d+)", str(version))
    if version not in (None, "latest") and not (minor and int(minor[1]) >= OLDEST_VERSION):
        yield Problem(
            f"label {ENFORCE_VERSION} is {version!r}, older than v1.{OLDEST_VERSION} of the standard",
            "remove the label, or set it to latest",
        )


def _placement(manifest: Manifest) -> Iterator[Problem]:
    if next(pod_templates(manifest), None) is None:
        return
    if Node(manifest).get("metadata", "namespace") in (None, "", "default"):
        yield Problem(
            "runs pods in the namespace 'default', which enforces no standard",
            "set metadata.namespace to a namespace of the stack",
        )


def _has_containers(pod: PodTemplate) -> Iterator[Problem]:
    if next(pod.spec.items("containers"), None) is None:
        yield Problem("no containers to judge", "declare the pod's containers in the manifest")


def _no_host_namespaces(pod: PodTemplate) -> Iterator[Problem]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(field) not in (None, False):
            yield Problem(f"spec.{field} is true, a pod must not share the node's", f"remove {field}")


def _volume_types(pod: PodTemplate) -> Iterator[Problem]:
    for volume in pod.spec.items("volumes"):
        types = [key for key, value in volume.mapping().items() if key != "name" and value is not None]
        for kind in types:
            if kind not in ALLOWED_VOLUMES:
                yield Problem(
                    f"volume {volume.get('name')!r} is of type {kind}, which pods may not mount themselves",
                    f"use a persistentVolumeClaim, or another of {', '.join(ALLOWED_VOLUMES)}",
                )


def _sysctls(pod: PodTemplate) -> Iterator[Problem]:
    for sysctl in pod.spec.items(SECURITY, "sysctls"):
        if sysctl.get("name") not in ALLOWED_SYSCTLS:
            yield Problem(f"sysctl {sysctl.get('name')!r} reaches beyond the pod", "remove it")


def _apparmor_annotations(pod: PodTemplate) -> Iterator[Problem]:
    annotations = pod.metadata.at("annotations")
    for key in annotations.mapping():
        if key.startswith(APPARMOR_ANNOTATION):
            value = annotations.get(key)
            if value not in (None, "", "runtime/default") and not str(value).startswith("localhost/"):
                yield Problem(f"annotation {key} is {value!r}", "remove the annotation")


def _pod_level(pod: PodTemplate) -> Iterator[Problem]:
    yield from _security_fields(pod.spec.at(SECURITY))


def _container_level(_: PodTemplate, container: Node) -> Iterator[Problem]:
    yield from _security_fields(container.at(SECURITY))


def _security_fields(security: Node) -> Iterator[Problem]:
    for rule in (_selinux, _apparmor, _host_process):
        yield from guarded(rule(security))


def _selinux(security: Node) -> Iterator[Problem]:
    options = security.at("seLinuxOptions")
    if options.get("type") not in ALLOWED_SELINUX_TYPES:
        yield Problem(f"seLinuxOptions.type is {options.get('type')!r}", "remove seLinuxOptions")
    for field in ("user", "role"):
        if options.get(field) not in (None, ""):
            yield Problem(f"seLinuxOptions.{field} is {options.get(field)!r}", "remove seLinuxOptions")


def _apparmor(security: Node) -> Iterator[Problem]:
    kind = security.get("appArmorProfile", "type")
    if security.get("appArmorProfile") is not None and kind not in ALLOWED_PROFILES:
        yield Problem(f"appArmorProfile.type is {kind!r}", "set it to RuntimeDefault or remove the profile")


def _host_process(security: Node) -> Iterator[Problem]:
    if security.get("windowsOptions", "hostProcess") not in (None, False):
        yield Problem("windowsOptions.hostProcess is true", "remove it")


def _not_privileged(_: PodTemplate, container: Node) -> Iterator[Problem]:
    if container.get(SECURITY, "privileged") not in (None, False):
        yield Problem(f"{SECURITY}.privileged is true", "remove it; devices come from a device plugin")


def _no_privilege_escalation(_: PodTemplate, container: Node) -> Iterator[Problem]:
    value = container.get(SECURITY, "allowPrivilegeEscalation")
    if value is not False:
        yield Problem(f"{SECURITY}.allowPrivilegeEscalation is {_shown(value)}", "set it to false")


def _capabilities(_: PodTemplate, container: Node) -> Iterator[Problem]:
    dropped = [item.known() for item in container.items(SECURITY, "capabilities", "drop")]
    if "ALL" not in dropped:
        yield Problem(f"{SECURITY}.capabilities.drop lacks ALL", "set capabilities to {drop: [ALL]}")
    for item in container.items(SECURITY, "capabilities", "add"):
        if item.known() != "NET_BIND_SERVICE":
            yield Problem(f"{SECURITY}.capabilities.add has {item.known()!r}", "remove it")


def _non_root(pod: PodTemplate, container: Node) -> Iterator[Problem]:
    own = container.get(SECURITY, "runAsNonRoot")
    value = pod.spec.get(SECURITY, "runAsNonRoot") if own is None else own
    if value is not True:
        yield Problem(f"{SECURITY}.runAsNonRoot is {_shown(value)}", "set it to true for the pod")


def _not_user_zero(pod: PodTemplate, container: Node) -> Iterator[Problem]:
    for place, user in (("pod", pod.spec), ("container", container)):
        value = user.get(SECURITY, "runAsUser")
        if value is not None and (not isinstance(value, int | float) or value == 0):
            yield Problem(f"runAsUser of the {place} is {value!r}", "use another user, such as 10001")


def _seccomp(pod: PodTemplate, container: Node) -> Iterator[Problem]:
    inherited = pod.spec.get(SECURITY, "seccompProfile", "type")
    own = container.get(SECURITY, "seccompProfile", "type")
    for value in (inherited, own):
        if value is not None and value not in ALLOWED_PROFILES:
            yield Problem(f"seccompProfile.type is {value!r}", "set it to RuntimeDefault")
    if inherited is None and own is None:
        yield Problem(
            f"{SECURITY}.seccompProfile is unset in the pod and in the container",
            "set the pod's securityContext.seccompProfile.type to RuntimeDefault",
        )


def _proc_mount(_: PodTemplate, container: Node) -> Iterator[Problem]:
    value = container.get(SECURITY, "procMount")
    if value not in (None, "Default"):
        yield Problem(f"{SECURITY}.procMount is {value!r}", "remove it")


def _no_host_ports(_: PodTemplate, container: Node) -> Iterator[Problem]:
    for port in container.items("ports"):
        if port.get("hostPort") not in (None, 0):
            yield Problem(f"hostPort {port.get('hostPort')} opens a port of the node", "use a Service")


def _no_foreign_hosts(_: PodTemplate, container: Node) -> Iterator[Problem]:
    handlers = [container.at(f"{probe}Probe") for probe in ("liveness", "readiness", "startup")]
    handlers += [container.at("lifecycle", hook) for hook in ("postStart", "preStop")]
    for handler in handlers:
        for action in ("httpGet", "tcpSocket"):
            host = handler.at(action, "host")
            if host.known() not in (None, ""):
                yield Problem(
                    f"{host.path} is {host.value!r}", "remove host, so that the pod itself is asked"
                )


def _shown(value: object) -> str:
    return "unset" if value is None else repr(value)


POD_RULES: Final[tuple[PodRule, ...]] = (
    _has_containers,
    _no_host_namespaces,
    _volume_types,
    _sysctls,
    _apparmor_annotations,
    _pod_level,
)
CONTAINER_RULES: Final[tuple[ContainerRule, ...]] = (
    _not_privileged,
    _no_privilege_escalation,
    _capabilities,
    _non_root,
    _not_user_zero,
    _seccomp,
    _proc_mount,
    _no_host_ports,
    _no_foreign_hosts,
    _container_level,
)
