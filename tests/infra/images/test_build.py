"""`trainyard images build`: what is skipped, what is refused, what is pruned."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.bootstrap import ownership, runtime
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.cli.images import app
from infra.errors import InvalidInput, TrainyardError
from infra.images import build as images
from infra.images import tags
from infra.images.archive import assemble
from infra.images.workspace import Workspace


@pytest.fixture
def ready(host: Any, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine whose store holds everything already."""
    tool = tmp_path / "tool"
    tool.write_text("")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(images.tools, "find", lambda name: tool)
    monkeypatch.setattr(ownership, "exclusive", lambda progress: contextlib.nullcontext())
    monkeypatch.setattr(runtime, "running", lambda host, plan: contextlib.nullcontext())
    plan.directories.containerd.mkdir(parents=True)
    for package in images.debian.RUNTIME:
        host.write(Path("/usr/bin") / package.program, "")
    names = [tags.trainer_image(), tags.kueue_image(), tags.jobset_image()]
    host.answer("ctr", "images", "list", output="REF\n" + "".join(f"{name} t sha256:aa\n" for name in names))
    host.answer("ctr", "images", "list", "--quiet", output="\n".join(names))
    return host


def build(host: Any, plan: Plan, **options: Any) -> images.Built:
    return images.build(host, plan, progress=Progress(stream=io.StringIO()), **options)


def test_nothing_is_built_where_nothing_changed(ready: Any, plan: Plan) -> None:
    build(ready, plan)
    ready.fed.clear()
    built = build(ready, plan)
    assert built.new == ()
    assert ready.fed == []
    assert [command for command in ready.commands if "ctr" not in command[0]] == []


def test_the_lock_names_every_image_with_its_digest(ready: Any, plan: Plan) -> None:
    build(ready, plan)
    lock = Workspace(plan.directories.images).lock.read_text()
    assert tags.trainer_image() in lock
    assert "sha256:aa" in lock


def test_controllers_run_unprivileged(ready: Any, plan: Plan) -> None:
    build(ready, plan)
    assert b'"User":"65532:65532"' in ready.fed[0][1]
    assert b'"Entrypoint":["/manager"]' in ready.fed[0][1]


def test_a_base_without_digest_is_refused_before_anything_happens(ready: Any, plan: Plan) -> None:
    with pytest.raises(InvalidInput):
        build(ready, plan, base="python:3.11")
    assert ready.commands == []


def test_the_command_ends_with_wrong_usage_for_such_a_base() -> None:
    done = CliRunner().invoke(app, ["build", "--base", "python:3.11"])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.exit_code == 2


def test_missing_build_tools_are_named_with_the_command(ready: Any, plan: Plan) -> None:
    ready.answer("ctr", "images", "list", "--quiet", output="")
    with pytest.raises(TrainyardError, match=r"apt-get install .*buildah debootstrap"):
        build(ready, plan)


def test_without_a_container_runtime_nothing_is_started(
    ready: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "running", lambda host, plan: pytest.fail("containerd was started"))
    ready.remove(Path("/usr/bin/containerd"))
    ready.remove(Path("/usr/bin/runc"))
    with pytest.raises(TrainyardError, match="containerd and runc") as told:
        build(ready, plan)
    assert images.debian.install_line(["containerd", "runc"]) in told.value.next_step
    assert "--install-packages" in told.value.next_step


def test_the_container_runtime_is_installed_when_asked(ready: Any, plan: Plan) -> None:
    ready.remove(Path("/usr/bin/runc"))
    build(ready, plan, install_packages=True)
    assert ready.ran("apt-get", "install")[0][-1] == "runc"


def test_what_the_system_refuses_is_told_without_a_traceback(
    ready: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device", "/images/layer.partial")

    monkeypatch.setattr(images.store, "ensure_programs", full)
    with pytest.raises(TrainyardError, match="No space left on device") as told:
        build(ready, plan)
    assert "run the command again" in told.value.next_step


def test_too_little_room_is_told_before_the_work(ready: Any, plan: Plan) -> None:
    ready.answer("ctr", "images", "list", "--quiet", output="")
    ready.answer("df", output=f"Avail\n{3 << 30}\n")
    for package in images.debian.IMAGES:
        ready.write(Path("/usr/bin") / package.program, "")
    with pytest.raises(TrainyardError, match="3 GiB free"):
        build(ready, plan)


def test_only_the_newest_trainers_stay(ready: Any, plan: Plan) -> None:
    space = trainers(plan, ["t1", "t2", "t3", "t4", "t5"])
    old = images.prune(ready, plan, space, newest="localhost/trainyard/trainer:t5")
    assert old == ["localhost/trainyard/trainer:t1", "localhost/trainyard/trainer:t2"]
    assert [image.reference[-2:] for image in space.layout.images()] == ["t3", "t4", "t5"]


def test_an_image_that_a_container_was_made_from_stays(ready: Any, plan: Plan) -> None:
    rows = "CONTAINER IMAGE RUNTIME\nx localhost/trainyard/trainer:t1 runc\n"
    ready.answer("ctr", "containers", "list", output=rows)
    space = trainers(plan, ["t1", "t2", "t3", "t4", "t5"])
    old = images.prune(ready, plan, space, newest="localhost/trainyard/trainer:t5")
    assert old == ["localhost/trainyard/trainer:t2"]


def test_an_older_image_that_is_current_again_counts_as_newest(ready: Any, plan: Plan) -> None:
    space = trainers(plan, ["t1", "t2", "t3", "t4"])
    assert images.prune(ready, plan, space, newest="localhost/trainyard/trainer:t1") == [
        "localhost/trainyard/trainer:t2"
    ]


def trainers(plan: Plan, names: list[str]) -> Workspace:
    space = Workspace(plan.directories.images)
    space.layout.prepare()
    for name in names:
        space.layout.add(assemble(f"localhost/trainyard/trainer:{name}", layers=[], config={"Name": name}))
    return space
