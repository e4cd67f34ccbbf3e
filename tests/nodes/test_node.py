"""Every node check of infra/verify, through testinfra: `trainyard verify nodes`, or `pytest tests/nodes`."""

from collections.abc import Callable

import pytest

from infra.verify.catalog import CHECKS, title
from infra.verify.finding import Check, Declared, Node

pytestmark = [pytest.mark.full, pytest.mark.cluster]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_node(
    check: Check, host: Node, declared: Declared, record_property: Callable[[str, object], None]
) -> None:
    record_property("check", check.__name__)
    record_property("title", title(check))
    finding = check(host, declared)
    record_property("found", finding.found)
    assert finding.passed, f"{title(check)}: {finding.found}"
