"""The manifests of each stack, held in files: a change of what is deployed shows in the diff.

After an intended change, `make goldens` writes them again.
"""

from pathlib import Path

import pytest
import yaml
from jinja2 import UndefinedError

from infra.cli.render import manifests
from infra.paths import REPOSITORY
from infra.runs import render
from infra.runs.resolve import resolve
from infra.settings.stack import load_stack

IMAGE = "localhost/trainyard/trainer:000000000000"
STACKS = sorted(path.name.split(".")[1] for path in (REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("stack", STACKS)
def test_the_manifests_of_the_stack_are_the_golden_ones(stack: str, request: pytest.FixtureRequest) -> None:
    _compare(manifests(stack, image=IMAGE), Path(__file__).with_name(f"{stack}.yaml"), request)


@pytest.mark.parametrize("sample", ["sections-run", "nested-run"])
def test_the_manifests_of_the_samples_are_the_golden_ones(
    sample: str, request: pytest.FixtureRequest
) -> None:
    rendered = manifests("local", run_file=FIXTURES / f"{sample}.yaml", image=IMAGE)
    _compare(rendered, Path(__file__).with_name(f"{sample}.yaml"), request)


def test_a_variable_that_a_template_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_stack("local")
    run = resolve(settings.runs[0], stack="local", settings=settings, trainer_image=IMAGE)
    context = render._context(run)
    del context["never_retry_exit_code"]
    monkeypatch.setattr(render, "_context", lambda _: context)
    with pytest.raises(UndefinedError, match="never_retry_exit_code"):
        render.render_run(run)


@pytest.mark.parametrize("value", ["a: b", "'", '"', "{{ x }}", "two\nlines", "#", "- x", "è日"])
def test_any_text_of_a_user_stays_text(value: str) -> None:
    settings = load_stack("local")
    spec = settings.runs[0].model_copy(update={"env": {"TEXT": value}, "command": ("echo", value)})
    run = resolve(spec, stack="local", settings=settings, trainer_image=IMAGE)
    documents = list(yaml.safe_load_all(render.to_yaml(render.render_run(run))))
    pod = documents[2]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["echo", value]
    assert {"name": "TEXT", "value": value} in pod["containers"][0]["env"]


def test_a_user_cannot_replace_what_the_run_injects() -> None:
    settings = load_stack("local")
    spec = settings.runs[0].model_copy(update={"env": {"NNODES": "99"}})
    run = resolve(spec, stack="local", settings=settings, trainer_image=IMAGE)
    env = render.render_run(run)[2]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ][0]["env"]
    assert [item["value"] for item in env if item["name"] == "NNODES"] == ["2"]


def test_another_specification_is_another_run() -> None:
    settings = load_stack("local")
    spec = settings.runs[0]
    ids = {
        resolve(changed, stack="local", settings=settings, trainer_image=image).id
        for changed in (spec, spec.model_copy(update={"seed": 7}))
        for image in (IMAGE, IMAGE.replace("0", "1"))
    }
    assert len(ids) == 4


def _compare(rendered: str, golden: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-goldens"):
        golden.write_text(rendered, encoding="utf-8")
    assert golden.exists(), "no golden file; next: make goldens"
    assert rendered == golden.read_text(encoding="utf-8"), "manifests changed; if intended: make goldens"
