import pytest

from policies.problems import Problem, report, resource_name
from policies.reading import UNKNOWN


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({"kind": "JobSet", "metadata": {"name": "a", "namespace": "team-a"}}, "JobSet team-a/a"),
        ({"kind": "Namespace", "metadata": {"name": "team-a"}}, "Namespace team-a"),
        ({"kind": "Pod", "metadata": {"name": UNKNOWN, "namespace": "team-a"}}, "Pod team-a/(unknown)"),
        ({"kind": "Pod", "metadata": {"generateName": "a-"}}, "Pod (no name)"),
        ({"kind": "Pod", "metadata": UNKNOWN}, "Pod (no name)"),
        ({}, "resource (no name)"),
    ],
)
def test_resources_are_named_as_far_as_they_are_known(manifest: dict[str, object], expected: str) -> None:
    assert resource_name(manifest) == expected


def test_a_message_names_resource_control_and_next_step_once() -> None:
    manifest = {"kind": "Pod", "metadata": {"name": "a"}}
    problems = [Problem("is wrong", "put it right"), Problem("is wrong", "put it right")]
    assert report(manifest, problems, control="R1") == ["Pod a: is wrong [R1]\n  next: put it right"]
