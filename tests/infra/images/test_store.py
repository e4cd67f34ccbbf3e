"""containerd's image store: what it lacks, and what may go."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap.plan import Plan
from infra.images import store
from infra.images.archive import Program

LISTING = """\
REF TYPE DIGEST SIZE PLATFORMS LABELS
localhost/trainyard/trainer:old type sha256:aa 5.5 GiB linux/amd64 io.cri-containerd.image=managed
sha256:c0ffee type sha256:aa 5.5 GiB linux/amd64 io.cri-containerd.image=managed
localhost/trainyard/trainer:new type sha256:bb 5.5 GiB linux/amd64 -
localhost/k8s/etcd:v3 type sha256:cc 25.7 MiB linux/amd64 -
"""


@pytest.fixture
def programs(tmp_path: Path) -> list[Program]:
    found = []
    for name in ("a", "b"):
        path = tmp_path / name
        path.write_text(name)
        found.append(Program(f"localhost/x/{name}:1", {f"/{name}": path}, (f"/{name}",)))
    return found


@pytest.fixture
def listed(host: Any, plan: Plan) -> Any:
    plan.directories.containerd.mkdir(parents=True)
    host.answer("ctr", "images", "list", output=LISTING)
    host.answer(
        "ctr",
        "images",
        "list",
        "--quiet",
        output="\n".join(row.split()[0] for row in LISTING.splitlines()[1:]),
    )
    return host


def references(host: Any) -> list[str]:
    (_, data) = host.fed[-1]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        member = archive.extractfile("index.json")
        assert member is not None
        text = member.read().decode()
    return [word for word in ("localhost/x/a:1", "localhost/x/b:1") if word in text]


def test_missing_programs_are_imported_together(listed: Any, plan: Plan, programs: list[Program]) -> None:
    assert store.ensure_programs(listed, plan, programs) == ["localhost/x/a:1", "localhost/x/b:1"]
    assert len(listed.fed) == 1
    assert references(listed) == ["localhost/x/a:1", "localhost/x/b:1"]


def test_what_is_there_unchanged_is_not_imported(listed: Any, plan: Plan, programs: list[Program]) -> None:
    store.ensure_programs(listed, plan, programs)
    listed.answer("ctr", "images", "list", "--quiet", output="localhost/x/a:1\nlocalhost/x/b:1\n")
    assert store.ensure_programs(listed, plan, programs) == []


def test_a_program_that_changed_is_imported_again(listed: Any, plan: Plan, programs: list[Program]) -> None:
    store.ensure_programs(listed, plan, programs)
    listed.answer("ctr", "images", "list", "--quiet", output="localhost/x/a:1\nlocalhost/x/b:1\n")
    programs[1].files["/b"].write_text("changed")
    assert store.ensure_programs(listed, plan, programs) == ["localhost/x/b:1"]
    assert references(listed) == ["localhost/x/b:1"]


def test_a_store_that_was_emptied_gets_everything_again(
    listed: Any, plan: Plan, programs: list[Program]
) -> None:
    store.ensure_programs(listed, plan, programs)
    assert len(store.ensure_programs(listed, plan, programs)) == 2


def test_digests_are_those_of_the_prefix(listed: Any, plan: Plan) -> None:
    found = store.digests(listed, plan, prefix="localhost/trainyard")
    assert found == {
        "localhost/trainyard/trainer:old": "sha256:aa",
        "localhost/trainyard/trainer:new": "sha256:bb",
    }


def test_an_image_goes_under_all_its_names(listed: Any, plan: Plan) -> None:
    store.remove(listed, plan, ["localhost/trainyard/trainer:old"])
    (command,) = listed.ran("ctr", "images", "remove")
    assert command[-2:] == ["localhost/trainyard/trainer:old", "sha256:c0ffee"]


def test_images_of_containers_are_in_use(listed: Any, plan: Plan) -> None:
    listed.answer("ctr", "containers", "list", output="CONTAINER IMAGE RUNTIME\nab localhost/x/a:1 runc\n")
    assert store.in_use(listed, plan) == {"localhost/x/a:1"}
