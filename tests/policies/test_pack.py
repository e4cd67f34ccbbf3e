import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc
from pulumi_policy.proxy import UNKNOWN_ARRAY_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.pack import CONCERNS, manifest_of, policies
from policies.reading import UNKNOWN

PACK = Path(__file__).resolve().parents[2] / "policies"
NAMES = [
    "pod-security",
    "pinned-images",
    "container-resources",
    "run-expiry",
    "protected-results",
    "protected-results-stack",
]
JOBSET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
IMAGE = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "image")


@pytest.fixture(scope="module")
def analyzer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The pack served as the engine starts it: by path, from another directory, its port on a pipe."""
    process = subprocess.Popen(
        [sys.executable, str(PACK), "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        cwd=tmp_path_factory.mktemp("program"),
    )
    try:
        assert process.stdout is not None
        with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
            yield analyzer_pb2_grpc.AnalyzerStub(channel)
    finally:
        process.kill()
        process.communicate()


def request(resource_type: str, properties: Any) -> Any:
    struct = Struct()
    struct.update(properties)
    return analyzer_pb2.AnalyzeRequest(type=resource_type, urn="urn", name="name", properties=struct)


def found(response: Any) -> list[tuple[str, int]]:
    return [(item.policyName, item.enforcementLevel) for item in response.diagnostics]


def test_the_pack_is_served_by_path_and_every_policy_is_mandatory(analyzer: Any) -> None:
    info = analyzer.GetAnalyzerInfo(Empty())
    assert info.name == "trainyard"
    levels = {policy.name: policy.enforcementLevel for policy in info.policies}
    assert levels == dict.fromkeys(NAMES, analyzer_pb2.MANDATORY)


def test_a_good_run_has_no_violations(analyzer: Any, run: Any) -> None:
    assert found(analyzer.Analyze(request(JOBSET, run))) == []


def test_a_bad_run_is_refused(analyzer: Any, run: Any, edited: Any) -> None:
    response = analyzer.Analyze(request(JOBSET, edited(run, IMAGE, "trainer:latest")))
    assert found(response) == [("pinned-images", analyzer_pb2.MANDATORY)]
    assert "container 'trainer': image 'trainer:latest'" in response.diagnostics[0].message


@pytest.mark.parametrize(
    ("path", "sentinel", "names"),
    [
        (IMAGE, UNKNOWN_STRING_VALUE, ["pinned-images"]),
        (("spec", "replicatedJobs"), UNKNOWN_ARRAY_VALUE, [n for n in NAMES[:5] if n != "run-expiry"]),
        (("metadata", "labels", "trainyard.dev/purpose"), UNKNOWN_STRING_VALUE, NAMES[3:5]),
    ],
)
def test_an_unknown_value_is_a_violation_not_advice(
    analyzer: Any, run: Any, edited: Any, path: Any, sentinel: str, names: list[str]
) -> None:
    response = analyzer.Analyze(request(JOBSET, edited(run, path, sentinel)))
    assert found(response) == [(name, analyzer_pb2.MANDATORY) for name in names]
    assert all("is unknown at preview" in item.message for item in response.diagnostics)


def test_the_stack_is_judged_as_a_whole(analyzer: Any, run: Any) -> None:
    struct = Struct()
    struct.update(run)
    resource = analyzer_pb2.AnalyzerResource(type=JOBSET, urn="urn", name="name", properties=struct)
    response = analyzer.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=[resource]))
    assert found(response) == [("protected-results-stack", analyzer_pb2.MANDATORY)]
    assert "claim 'checkpoints'" in response.diagnostics[0].message


def test_the_registered_policies_are_the_five_concerns_and_the_stack() -> None:
    assert [policy.name for policy in policies()] == NAMES
    assert len(CONCERNS) == 5


def test_the_project_file_names_the_pack_and_its_runtime() -> None:
    project = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text())
    assert project["runtime"]["name"] == "python"
    assert project["name"] == "trainyard"


def test_unknown_values_are_marked_where_they_are() -> None:
    props = {"metadata": {"name": UNKNOWN_STRING_VALUE}, "spec": {"items": [1, UNKNOWN_STRING_VALUE]}}
    assert manifest_of("kubernetes:core/v1:Pod", unknown_checking_proxy(props)) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": UNKNOWN},
        "spec": {"items": [1, UNKNOWN]},
    }


@pytest.mark.parametrize(
    ("resource_type", "version", "kind"),
    [
        ("kubernetes:core/v1:Namespace", "v1", "Namespace"),
        ("kubernetes:apps/v1:DeploymentPatch", "apps/v1", "DeploymentPatch"),
        ("kubernetes:helm.sh/v3:Release", "helm.sh/v3", "Release"),
    ],
)
def test_the_type_fills_in_what_the_manifest_leaves_out(resource_type: str, version: str, kind: str) -> None:
    assert manifest_of(resource_type, {}) == {"apiVersion": version, "kind": kind}
    assert manifest_of(resource_type, unknown_checking_proxy({"kind": UNKNOWN_STRING_VALUE}))["kind"] == kind


def test_the_manifest_s_own_kind_counts() -> None:
    own = {"apiVersion": "apps/v1", "kind": "Deployment"}
    assert manifest_of("kubernetes:apps/v1:DeploymentPatch", own) == own


@pytest.mark.parametrize(
    "resource_type",
    [
        "aws:s3/bucket:Bucket",
        "pulumi:providers:kubernetes",
        "kubernetes:helm.sh/v4:Chart",
        "kubernetes:yaml/v2:ConfigFile",
        "kubernetes:kustomize/v2:Directory",
    ],
)
def test_other_resources_and_components_are_no_manifests(resource_type: str) -> None:
    assert manifest_of(resource_type, {"spec": {}}) is None


def test_the_validators_need_no_pulumi() -> None:
    modules = ["expiry", "images", "pod_security", "protected_results", "protected_stack", "resources"]
    script = f"import sys\nfrom policies import {', '.join(modules)}\nsys.exit('pulumi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=PACK.parent, check=False).returncode == 0
