"""A preview says how many resources would change, read from the engine's own events."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra import paths
from infra.cli.preview import count_changes
from infra.errors import TrainyardError


def log(changes: dict[str, int]) -> str:
    events = [{"preludeEvent": {}}, {"summaryEvent": {"resourceChanges": changes}}]
    return "\n".join(json.dumps(event) for event in events)


def test_resources_that_stay_are_no_changes() -> None:
    assert count_changes(log({"same": 120})) == {}


def test_each_kind_of_change_counts() -> None:
    assert count_changes(log({"same": 3, "create": 2, "update": 1, "replace": 1})) == {
        "create": 2,
        "update": 1,
        "replace": 1,
    }


def test_a_log_that_was_cut_short_is_no_verdict() -> None:
    with pytest.raises(TrainyardError, match="without a summary"):
        count_changes('{"preludeEvent": {}}')


@pytest.mark.full
def test_before_the_cluster_exists_a_preview_shows_the_whole_plan(tmp_path: Path) -> None:
    variables = os.environ | {"TRAINYARD_STATE": str(tmp_path), "KUBECONFIG": str(tmp_path / "absent")}
    command = [str(Path(sys.executable).with_name("trainyard")), "preview", "--stack", "local"]
    done = subprocess.run(command, cwd=paths.REPOSITORY, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^(\d+) changes, \1 to create$", done.stdout, re.MULTILINE)
    assert found
    assert int(found[1]) > 100
    assert "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet first-words-" in done.stdout
    assert not (tmp_path / "cluster").exists()
