"""A preview says how many resources would change, read from the engine's own events."""

import json

import pytest

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
