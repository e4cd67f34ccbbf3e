"""Options and places that all tests share."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="write the golden files from what is rendered now"
    )


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and caches of the test's own, so that nothing of this machine is read or changed."""
    monkeypatch.setenv("TRAINYARD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    return tmp_path
