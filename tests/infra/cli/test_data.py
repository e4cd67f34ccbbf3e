from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.cli import data
from infra.corpus.dataset import Dataset
from infra.errors import InvalidInput, TrainyardError

SPLIT = {"shards": [{}], "num_tokens": 1000}
MANIFEST = {
    "version": "0123456789abcdef",
    "num_documents": 12,
    "vocab_size": 512,
    "splits": {"train": SPLIT, "validation": SPLIT},
    "lineage": {"corpus": "earlier"},
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A stack that declares two data sets, one of them pinned, and a vault that has everything."""
    calls: list[Any] = []

    def have(name: str, **options: Any) -> Dataset:
        calls.append((name, options))
        return Dataset(name, Path("/vault") / name, MANIFEST)

    declared = [
        SimpleNamespace(name="debian-docs", version=None),
        SimpleNamespace(name="novels", version="0123456789ab"),
    ]
    monkeypatch.setattr(data, "load_stack", lambda stack: SimpleNamespace(datasets=declared))
    monkeypatch.setattr(data, "push_dataset", have)
    monkeypatch.setattr(data, "verify_dataset", have)
    return calls


def run(*arguments: str) -> Any:
    return CliRunner().invoke(data.app, arguments)


def test_all_declared_data_sets_are_pushed(calls: list[Any]) -> None:
    result = run("push", "--replace", "--vocab-size", "600")
    assert result.exit_code == 0
    assert [name for name, _ in calls] == ["debian-docs", "novels"]
    assert calls[0][1]["vocab_size"] == 600 and calls[0][1]["replace"] is True
    assert "in the vault: debian-docs version 0123456789abcdef: 12 documents" in result.stdout
    assert "debian-docs was made of the text as it was declared earlier" in result.stderr


def test_one_data_set_is_verified_and_its_counts_shown(calls: list[Any]) -> None:
    result = run("verify", "--dataset", "novels")
    assert [name for name, _ in calls] == ["novels"]
    assert "whole: novels version 0123456789abcdef: 12 documents, 1,000 training" in result.stdout


def test_an_undeclared_data_set_is_refused(calls: list[Any]) -> None:
    result = run("push", "--dataset", "poems")
    assert isinstance(result.exception, InvalidInput)
    assert "debian-docs, novels" in str(result.exception)
    assert calls == []


def test_a_pin_must_match(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = [SimpleNamespace(name="novels", version="ffffffffffff")]
    monkeypatch.setattr(data, "load_stack", lambda stack: SimpleNamespace(datasets=pinned))
    result = run("verify")
    assert isinstance(result.exception, TrainyardError)
    assert "pins version ffffffffffff" in str(result.exception)
