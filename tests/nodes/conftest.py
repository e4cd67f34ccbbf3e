"""What the checked node was declared to be; without a cluster on this machine there is nothing to check."""

import pytest

from infra.bootstrap.plan import embedded_plan
from infra.verify.finding import Declared
from toolchain import tools


@pytest.fixture(scope="session")
def declared() -> Declared:
    plan = embedded_plan()
    if not plan.directories.kubeconfig.exists():
        pytest.skip("the embedded cluster is not up")
    return Declared(plan, tools.find("kubectl"))
