"""Names, labels and tags: pure functions, so that nothing needs another part's outputs to find it."""

import hashlib
import json
from typing import Any

DOMAIN = "trainyard.dev"
HASH_DIGITS = 8


def namespace(team: str) -> str:
    """The namespace of a team."""
    return f"team-{team}"


def cluster_queue(team: str) -> str:
    """The cluster-wide queue with a team's quota; the queue in its namespace is named after the team."""
    return f"team-{team}"


def volume(stack: str, team: str, kind: str) -> str:
    """A persistent volume of a team: kind is data, checkpoints, output or cache."""
    return f"{stack}-{team}-{kind}"


def run_id(name: str, specification: Any) -> str:
    """The run's name plus a hash of all that it declares: another specification is another run."""
    text = json.dumps(specification, sort_keys=True, ensure_ascii=False, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
    return f"{name.replace('_', '-')}-{digest}"


def run_labels(*, stack: str, team: str, run: str, run_id: str, purpose: str) -> dict[str, str]:
    """The labels on every object of a run."""
    values = {"stack": stack, "team": team, "run": run, "run-id": run_id, "purpose": purpose}
    return {f"{DOMAIN}/{key}": value for key, value in values.items()} | {
        "app.kubernetes.io/managed-by": "trainyard"
    }
