import os
from pathlib import Path
from typing import Any

import pytest

from infra.corpus.packages import fetch_packages, find_packages, read_files
from infra.errors import TrainyardError


def quiet(message: str) -> None:
    pass


def test_a_package_is_downloaded_once(archive: Any, tmp_path: Path) -> None:
    offered = archive.add("guide_1%3a2.0-1_all.deb", {"usr/a.html": "text"})
    fetched = fetch_packages(["guide"], directory=tmp_path / "cache", progress=quiet)
    again = fetch_packages(["guide"], directory=tmp_path / "cache", progress=quiet)
    assert fetched == again == {"guide": tmp_path / "cache" / offered.name}
    assert fetched["guide"].read_bytes() == offered.read_bytes()
    downloads = [call for call in archive.calls() if "--print-uris" not in call]
    assert len(downloads) == 1
    assert downloads[0].endswith("download guide=1:2.0-1")


def test_a_damaged_download_is_replaced(archive: Any, tmp_path: Path) -> None:
    offered = archive.add("guide_1_all.deb", {"usr/a.html": "text"})
    damaged = tmp_path / "cache" / offered.name
    damaged.parent.mkdir()
    damaged.write_bytes(b"x" * offered.stat().st_size)
    fetch_packages(["guide"], directory=damaged.parent, progress=quiet)
    assert damaged.read_bytes() == offered.read_bytes()


def test_what_does_not_match_its_checksum_is_refused(archive: Any, tmp_path: Path) -> None:
    archive.add("guide_1_all.deb", {"usr/a.html": "text"})
    (archive.directory / "guide_1_all.deb.sha256").write_text("0" * 64)
    with pytest.raises(TrainyardError, match="did not arrive whole"):
        fetch_packages(["guide"], directory=tmp_path / "cache", progress=quiet)
    assert list((tmp_path / "cache").iterdir()) == []


def test_root_renews_missing_lists(archive: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add("guide_1_all.deb", {})
    archive.forget_lists()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    messages: list[str] = []
    assert "guide" in fetch_packages(["guide"], directory=tmp_path / "cache", progress=messages.append)
    assert any("apt-get update" in message for message in messages)


def test_others_are_told_to_renew_missing_lists(
    archive: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add("guide_1_all.deb", {})
    archive.forget_lists()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TrainyardError, match="Unable to locate package guide") as caught:
        fetch_packages(["guide"], directory=tmp_path / "cache", progress=quiet)
    assert "sudo apt-get update" in caught.value.next_step


def test_without_apt_the_error_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TrainyardError, match="no apt-get") as caught:
        find_packages(["guide"])
    assert "trainer data prepare" in caught.value.next_step


def test_only_wanted_files_are_read(archive: Any) -> None:
    package = archive.add("guide_1_all.deb", {"usr/a.html": "é", "usr/b.png": "no", "etc/c.html": "no"})
    wanted = {"usr/a.html": "a.html"}
    assert list(read_files(package, wanted=wanted.get)) == [("a.html", "é".encode())]


def test_a_damaged_package_is_an_error(archive: Any, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged_1_all.deb"
    damaged.write_bytes(b"not a tar")
    with pytest.raises(TrainyardError, match=r"damaged_1_all\.deb is damaged"):
        list(read_files(damaged, wanted=lambda path: path))
