from typing import Any

import pytest

from policies.pod_security import validate
from policies.reading import UNKNOWN

Path = tuple[str | int, ...]
MAIN = ("spec", "containers", 0)
INIT = ("spec", "initContainers", 0)
POD_SECURITY = ("spec", "securityContext")
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

POD_MISTAKES: list[tuple[Path, object, str]] = [
    (("spec", "hostNetwork"), True, "hostNetwork"),
    (("spec", "hostPID"), True, "hostPID"),
    (("spec", "hostIPC"), True, "hostIPC"),
    (("spec", "volumes", 1), {"name": "host", "hostPath": {"path": "/"}}, "type hostPath"),
    (("spec", "volumes", 1), {"name": "share", "nfs": {"server": "s", "path": "/"}}, "type nfs"),
    (
        ("spec", "volumes", 1),
        {"name": "two", "emptyDir": {}, "awsElasticBlockStore": {}},
        "type awsElasticBlockStore",
    ),
    ((*POD_SECURITY, "sysctls"), [{"name": "kernel.msgmax", "value": "1"}], "sysctl 'kernel.msgmax'"),
    ((*POD_SECURITY, "seLinuxOptions"), {"type": "spc_t"}, "seLinuxOptions.type is 'spc_t'"),
    ((*POD_SECURITY, "seLinuxOptions"), {"user": "root"}, "seLinuxOptions.user"),
    ((*POD_SECURITY, "appArmorProfile"), {"type": "Unconfined"}, "appArmorProfile.type is 'Unconfined'"),
    ((*POD_SECURITY, "windowsOptions"), {"hostProcess": True}, "windowsOptions.hostProcess"),
    (
        ("metadata", "annotations", f"{APPARMOR}trainer"),
        "unconfined",
        "annotation container.apparmor",
    ),
    (("spec", "containers"), [], "no containers to judge"),
    (("spec", "containers"), ..., "no containers to judge"),
    (("spec", "containers"), "trainer", "spec.containers is str, not a list"),
    (("metadata", "namespace"), "default", "namespace 'default'"),
    (("metadata", "namespace"), ..., "namespace 'default'"),
]

SECURITY_MISTAKES: list[tuple[Path, object, str]] = [
    (("securityContext", "privileged"), True, "privileged is true"),
    (("securityContext", "allowPrivilegeEscalation"), True, "allowPrivilegeEscalation is True"),
    (("securityContext", "allowPrivilegeEscalation"), ..., "allowPrivilegeEscalation is unset"),
    (("securityContext", "capabilities"), ..., "capabilities.drop lacks ALL"),
    (("securityContext", "capabilities", "drop"), ["NET_RAW"], "capabilities.drop lacks ALL"),
    (("securityContext", "capabilities", "add"), ["SYS_ADMIN"], "capabilities.add has 'SYS_ADMIN'"),
    (("securityContext", "runAsNonRoot"), False, "runAsNonRoot is False"),
    (("securityContext", "runAsUser"), 0, "runAsUser of the container is 0"),
    (("securityContext", "runAsUser"), 0.0, "runAsUser of the container is 0.0"),
    (("securityContext", "runAsUser"), "root", "runAsUser of the container is 'root'"),
    (("securityContext", "seccompProfile"), {"type": "Unconfined"}, "seccompProfile.type is 'Unconfined'"),
    (("securityContext", "procMount"), "Unmasked", "procMount is 'Unmasked'"),
    (("securityContext", "seLinuxOptions"), {"role": "admin"}, "seLinuxOptions.role is 'admin'"),
    (("securityContext", "appArmorProfile"), {}, "appArmorProfile.type is None"),
    (("ports",), [{"containerPort": 9400, "hostPort": 9400}], "hostPort 9400"),
    (("livenessProbe",), {"httpGet": {"host": "10.0.0.1", "port": 1}}, "livenessProbe.httpGet.host"),
    (("readinessProbe",), {"tcpSocket": {"host": "10.0.0.1", "port": 1}}, "readinessProbe.tcpSocket.host"),
    (("lifecycle", "preStop"), {"httpGet": {"host": "10.0.0.1"}}, "lifecycle.preStop.httpGet.host"),
]

WORKLOADS: list[tuple[str, Path]] = [
    ("PodTemplate", ("template",)),
    ("ReplicationController", ("spec", "template")),
    ("ReplicaSet", ("spec", "template")),
    ("Deployment", ("spec", "template")),
    ("StatefulSet", ("spec", "template")),
    ("DaemonSet", ("spec", "template")),
    ("Job", ("spec", "template")),
    ("CronJob", ("spec", "jobTemplate", "spec", "template")),
    ("JobSet", ("spec", "replicatedJobs", 0, "template", "spec", "template")),
    ("LeaderWorkerSet", ("spec", "leaderWorkerTemplate", "workerTemplate")),
    ("PyTorchJob", ("spec", "pytorchReplicaSpecs", "Worker", "template")),
    ("PodList", ("items", 0)),
]


def test_a_restricted_pod_passes(pod: dict[str, Any]) -> None:
    assert validate(pod) == []


@pytest.mark.parametrize(("path", "value", "expected"), POD_MISTAKES)
def test_each_mistake_of_a_pod_is_one_violation(
    pod: Any, edited: Any, path: Path, value: object, expected: str
) -> None:
    (message,) = validate(edited(pod, path, value))
    assert expected in message
    assert message.startswith("Pod ")
    assert "[Pod Security Standards, restricted]" in message
    assert "\n  next: " in message


@pytest.mark.parametrize(
    ("where", "name"), [(MAIN, "container 'trainer'"), (INIT, "init container 'verify-data'")]
)
@pytest.mark.parametrize(("path", "value", "expected"), SECURITY_MISTAKES)
def test_each_mistake_of_a_container_is_one_violation(
    pod: Any, edited: Any, where: Path, name: str, path: Path, value: object, expected: str
) -> None:
    (message,) = validate(edited(pod, (*where, *path), value))
    assert f"{name}: " in message
    assert expected in message


def test_ephemeral_containers_are_judged(pod: Any, edited: Any) -> None:
    debugger = {**pod["spec"]["containers"][0], "name": "debugger", "securityContext": {"privileged": True}}
    messages = validate(edited(pod, ("spec", "ephemeralContainers"), [debugger]))
    assert any(
        "ephemeral container 'debugger': securityContext.privileged" in message for message in messages
    )


@pytest.mark.parametrize("field", ["runAsNonRoot", "seccompProfile"])
def test_what_the_pod_does_not_set_each_container_must(pod: Any, edited: Any, field: str) -> None:
    value = pod["spec"]["securityContext"][field]
    bare = edited(pod, (*POD_SECURITY, field), ...)
    assert len(validate(bare)) == 2
    covered = edited(
        edited(bare, (*MAIN, "securityContext", field), value), (*INIT, "securityContext", field), value
    )
    assert validate(covered) == []


def test_root_as_the_pod_s_user_is_refused(pod: Any, edited: Any) -> None:
    messages = validate(edited(pod, (*POD_SECURITY, "runAsUser"), 0))
    assert messages and all("runAsUser of the pod is 0" in message for message in messages)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*MAIN, "securityContext", "capabilities", "add"), ["NET_BIND_SERVICE"]),
        ((*POD_SECURITY, "seccompProfile", "type"), "Localhost"),
        ((*POD_SECURITY, "appArmorProfile"), {"type": "RuntimeDefault"}),
        ((*POD_SECURITY, "seLinuxOptions"), {"type": "container_t"}),
        (("metadata", "annotations", f"{APPARMOR}trainer"), "runtime/default"),
        (("metadata", "annotations", f"{APPARMOR}trainer"), "localhost/strict"),
        (("metadata", "annotations", "example.com/note"), "unconfined"),
        ((*POD_SECURITY, "sysctls"), [{"name": "net.ipv4.tcp_rmem", "value": "1"}]),
        ((*MAIN, "ports"), [{"containerPort": 9400, "hostPort": 0}]),
        (("spec", "volumes", 1), {"name": "defaults-to-emptyDir"}),
        (("spec", "volumes", 1), {"name": "tmp", "emptyDir": {}, "hostPath": None}),
        (("spec", "hostNetwork"), False),
    ],
)
def test_what_the_standard_allows_passes(pod: Any, edited: Any, path: Path, value: object) -> None:
    assert validate(edited(pod, path, value)) == []


@pytest.mark.parametrize(("kind", "path"), WORKLOADS)
def test_pods_are_found_in_every_kind_of_workload(pod_spec: Any, edited: Any, kind: str, path: Path) -> None:
    metadata = {"name": "workload", "namespace": "team-a"}
    good = edited({"kind": kind, "metadata": metadata}, path, {"spec": pod_spec})
    assert validate(good) == []
    (message,) = validate(edited(good, (*path, "spec", "hostNetwork"), True))
    assert message.startswith(f"{kind} team-a/workload: ")
    assert "hostNetwork" in message


@pytest.mark.parametrize("kind", ["Job", "JobSet", "Deployment"])
def test_a_workload_without_pods_is_not_waved_through(kind: str) -> None:
    assert validate({"kind": kind, "metadata": {"name": "empty", "namespace": "team-a"}, "spec": {}})


def test_every_replicated_job_is_judged_and_named(run: Any, edited: Any) -> None:
    leader = {**run["spec"]["replicatedJobs"][0], "name": "leader"}
    path = ("spec", "replicatedJobs", 1, "template", "spec", "template", "spec", "hostPID")
    (message,) = validate(edited(edited(run, ("spec", "replicatedJobs", 1), leader), path, True))
    assert message.startswith(
        "JobSet team-a/first-words-1a2b3c4d: spec.replicatedJobs[1] 'leader': spec.hostPID"
    )


@pytest.mark.parametrize("name", ["kueue-system", "jobset-system"])
def test_system_namespaces_need_no_label(name: str) -> None:
    assert validate({"kind": "Namespace", "metadata": {"name": name}}) == []


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, "enforce is unset"),
        ({"pod-security.kubernetes.io/enforce": "baseline"}, "enforce is 'baseline'"),
        ({"pod-security.kubernetes.io/audit": "restricted"}, "enforce is unset"),
        (
            {
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/enforce-version": "v1.24",
            },
            "enforce-version is 'v1.24'",
        ),
        (
            {
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/enforce-version": "next",
            },
            "enforce-version is 'next'",
        ),
        ({"pod-security.kubernetes.io/enforce": UNKNOWN}, "enforce is unknown at preview"),
        (UNKNOWN, "metadata.labels is unknown at preview"),
    ],
)
def test_a_team_s_namespace_enforces_the_standard(labels: object, expected: str) -> None:
    (message,) = validate({"kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}})
    assert message.startswith("Namespace team-a: ")
    assert expected in message


@pytest.mark.parametrize("version", [None, "latest", "v1.34"])
def test_a_restricted_namespace_passes(version: str | None) -> None:
    labels = {
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/enforce-version": version,
    }
    assert validate({"kind": "Namespace", "metadata": {"name": "team-a", "labels": labels}}) == []


def test_a_helm_release_hides_its_objects_and_is_refused() -> None:
    (message,) = validate({"apiVersion": "helm.sh/v3", "kind": "Release", "metadata": {"name": "kueue"}})
    assert message.startswith("Release kueue: ")
    assert "kubernetes.helm.v4.Chart" in message


@pytest.mark.parametrize("kind", ["ConfigMap", "Service", "ServiceAccount"])
def test_what_runs_no_pods_is_left_alone(kind: str) -> None:
    assert (
        validate({"kind": kind, "metadata": {"name": "x"}, "data": {"containers": "text"}, "spec": {}}) == []
    )


RUN_POD = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "namespace"),
        ("spec",),
        ("spec", "replicatedJobs"),
        ("spec", "replicatedJobs", 0, "template"),
        RUN_POD,
        (*RUN_POD, "hostNetwork"),
        (*RUN_POD, "securityContext", "runAsNonRoot"),
        (*RUN_POD, "volumes", 0),
        (*RUN_POD, "containers"),
        (*RUN_POD, "containers", 0),
        (*RUN_POD, "containers", 0, "securityContext"),
        (*RUN_POD, "containers", 0, "securityContext", "capabilities", "drop", 0),
    ],
)
def test_what_is_unknown_does_not_pass(run: Any, edited: Any, path: Path) -> None:
    named = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
    messages = validate(edited(run, path, UNKNOWN))
    assert any(f"{named} is unknown at preview" in message for message in messages)


def test_a_volume_type_needs_no_value_to_be_refused(pod: Any, edited: Any) -> None:
    (message,) = validate(edited(pod, ("spec", "volumes", 1), {"name": "tmp", "hostPath": UNKNOWN}))
    assert "type hostPath" in message


def test_an_unknown_value_that_no_rule_reads_passes(run: Any, edited: Any) -> None:
    assert validate(edited(run, (*RUN_POD, "containers", 0, "env"), UNKNOWN)) == []


def test_an_unknown_template_of_an_unlisted_kind_does_not_pass() -> None:
    manifest = {"kind": "RayCluster", "metadata": {"name": "x", "namespace": "team-a"}}
    spec = {"headGroupSpec": {"template": UNKNOWN}}
    (message,) = validate({**manifest, "spec": spec})
    assert "spec.headGroupSpec.template is unknown" in message


def test_one_unknown_value_hides_no_other_mistake(pod: Any, edited: Any) -> None:
    manifest = edited(pod, (*INIT, "securityContext"), UNKNOWN)
    messages = validate(edited(manifest, (*MAIN, "securityContext", "privileged"), True))
    assert any("container 'trainer': securityContext.privileged is true" in message for message in messages)
    assert any("init container 'verify-data'" in message and "unknown" in message for message in messages)
