"""`toolchain/setup.sh`: when it has something to do, and which index uv uses."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.paths import REPOSITORY
from tests.toolchain.conftest import script

UV = "1.2.3"
NO_PIP = 'case "$*" in "-m pip"*) exit 1;; esac'
PIP = 'case "$*" in *"get global.index-url"*) echo https://mirror.example/simple;; *get*) exit 1;; esac'
PREPARE = """printf '%s %s\\n' "$*" "${UV_DEFAULT_INDEX:-no index}" >> "$LOG"
case "$1" in venv) mkdir -p .venv/bin && cp "$0" .venv/bin/python;; esac
[ ! -e "$LOG.fail" ]"""


class Checkout:
    """A checkout with nothing but the script and locks, on a machine whose python3 and uv only write down."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root, root / "log"
        for name in ("toolchain", "locks"):
            (root / name).mkdir(parents=True)
        shutil.copy(REPOSITORY / "toolchain" / "setup.sh", root / "toolchain")
        (root / "pyproject.toml").write_text("[project]\n")
        (root / "locks" / "uv.txt").write_text(f"uv=={UV} --hash=sha256:00\n")
        for name in ("dev", "operator"):
            (root / "locks" / f"{name}.txt").write_text(f"{name}==1\n")
        script(root / "bin" / "python3", NO_PIP)
        script(root / "bin" / "apt-get", "exit 1")
        script(self.uv, PREPARE)
        script(self.uv.with_name("python"), PIP)

    @property
    def uv(self) -> Path:
        """Where the script keeps uv."""
        return self.root / "cache" / f"uv-{UV}" / "bin" / "uv"

    def setup(self, *arguments: str, **variables: str) -> list[str]:
        """What uv was asked by one run of the script, and with which index."""
        self.log.unlink(missing_ok=True)
        kept = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "HOME": str(self.root)}
        environment = kept | {"LOG": str(self.log), "TRAINYARD_CACHE": str(self.root / "cache")} | variables
        done = subprocess.run(["sh", str(self.root / "toolchain" / "setup.sh"), *arguments], env=environment)
        assert (done.returncode == 0) is not self.log.with_name("log.fail").exists()
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def test_a_second_time_does_nothing(checkout: Checkout) -> None:
    assert any("locks/dev.txt" in line for line in checkout.setup())
    assert checkout.setup() == []


def test_another_set_is_prepared_and_the_first_one_again(checkout: Checkout) -> None:
    checkout.setup()
    assert any("locks/operator.txt" in line for line in checkout.setup("operator"))
    assert checkout.setup("operator") == []
    assert any("locks/dev.txt" in line for line in checkout.setup("dev"))


def test_a_change_of_the_lock_is_prepared(checkout: Checkout) -> None:
    checkout.setup()
    (checkout.root / "locks" / "dev.txt").write_text("dev==2\n")
    assert checkout.setup() != []


def test_what_was_interrupted_is_done_again(checkout: Checkout) -> None:
    checkout.setup()
    failing = checkout.log.with_name("log.fail")
    failing.touch()
    checkout.setup("operator")
    failing.unlink()
    assert any("locks/dev.txt" in line for line in checkout.setup())


def test_the_index_of_the_machine_is_found_without_its_own_pip(checkout: Checkout) -> None:
    assert all("https://mirror.example/simple" in line for line in checkout.setup())


def test_the_machines_own_pip_is_asked_first(checkout: Checkout) -> None:
    script(checkout.root / "bin" / "python3", PIP.replace("mirror", "machine"))
    assert all("https://machine.example/simple" in line for line in checkout.setup())


def test_an_index_of_the_environment_wins(checkout: Checkout) -> None:
    lines = checkout.setup(PIP_INDEX_URL="https://pip.example/simple")
    assert all("https://pip.example/simple" in line for line in lines)
    lines = checkout.setup("operator", UV_DEFAULT_INDEX="https://uv.example/simple")
    assert all("https://uv.example/simple" in line for line in lines)


def test_without_any_index_uv_has_its_own(checkout: Checkout) -> None:
    script(checkout.uv.with_name("python"), 'case "$*" in *get*) exit 1;; esac')
    assert all(line.endswith("no index") for line in checkout.setup())
