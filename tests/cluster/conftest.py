"""What tests of a real cluster need from the machine."""

import pytest

from infra.bootstrap import packages, preflight
from infra.bootstrap.host import LocalHost
from infra.bootstrap.progress import Progress


@pytest.fixture(scope="session")
def node_packages() -> None:
    """The packages of a node, installed on a new machine as `make up` installs them."""
    preflight.require_root()
    host, progress = LocalHost(), Progress()
    packages.install(host, packages.missing(host, packages.NODE), progress=progress)
