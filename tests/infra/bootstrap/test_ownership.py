"""One cluster a machine, one command at a time."""

import fcntl
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from infra.bootstrap import ownership
from infra.bootstrap.plan import Plan
from infra.bootstrap.progress import Progress
from infra.errors import TrainyardError


def test_a_free_machine_and_an_own_one_are_fine(host: Any, plan: Plan) -> None:
    ownership.check(host, plan)
    ownership.claim(host, plan)
    host.make_directory(plan.directories.state)
    host.write(plan.directories.kubelet / "config.yaml", "")
    ownership.check(host, plan)


@pytest.mark.parametrize("mark", ["/etc/kubernetes/manifests/x.yaml", "/var/lib/kubelet/config.yaml"])
def test_another_kubernetes_is_not_touched(host: Any, plan: Plan, mark: str) -> None:
    host.write(Path(mark), "")
    with pytest.raises(TrainyardError, match="did not make"):
        ownership.check(host, plan)


def test_another_states_cluster_is_named_with_the_command_that_ends_it(host: Any, plan: Plan) -> None:
    host.write(plan.directories.owner, "/other/state\n")
    host.make_directory(Path("/other/state"))
    with pytest.raises(TrainyardError, match="TRAINYARD_STATE=/other/state trainyard cluster down"):
        ownership.check(host, plan)


def test_a_state_that_is_gone_owns_nothing(host: Any, plan: Plan) -> None:
    host.write(plan.directories.owner, "/other/state\n")
    ownership.check(host, plan)
    assert ownership.owner(host, plan) == plan.directories.state


def test_a_second_command_says_that_it_waits(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)

        class Releasing(StringIO):
            def write(self, text: str) -> int:
                fcntl.flock(first, fcntl.LOCK_UN)
                return super().write(text)

        said = Releasing()
        with ownership.exclusive(Progress(stream=said), lock=lock):
            pass
    assert "waiting" in said.getvalue()
