"""A stand-in for apt: a directory of packages, each a plain tar, served by executables on PATH."""

import hashlib
import io
import sys
import tarfile
from pathlib import Path

import pytest

APT = """#!{python}
import pathlib, shutil, sys
archive = pathlib.Path({archive!r})
with (archive / "calls").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
arguments = [a for a in sys.argv[1:] if not a.startswith("-") and "::" not in a]
if arguments[0] == "update":
    (archive / "fresh").touch()
    sys.exit(0)
for name in (a.partition("=")[0] for a in arguments[1:]):
    found = sorted(archive.glob(name + "_*.deb"))
    if not found or not (archive / "fresh").exists():
        sys.exit("E: Unable to locate package " + name)
    if "--print-uris" in sys.argv:
        digest = (archive / (found[0].name + ".sha256")).read_text()
        name, size = found[0].name, found[0].stat().st_size
        print(f"'http://archive.invalid/{{name}}' {{name}} {{size}} SHA256:{{digest}}")
    else:
        shutil.copy(found[0], ".")
"""
DPKG_DEB = """#!{python}
import pathlib, sys
sys.stdout.buffer.write(pathlib.Path(sys.argv[2]).read_bytes())
"""


class FakeArchive:
    """Packages that the stand-in for apt offers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "fresh").touch()

    def add(self, file: str, pages: dict[str, str]) -> Path:
        """Offer a package with these files."""
        path = self.directory / file
        with tarfile.open(path, "w") as tar:
            for name, text in pages.items():
                member = tarfile.TarInfo(f"./{name}")
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))
        (self.directory / f"{file}.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest())
        return path

    def forget_lists(self) -> None:
        """Make apt know no package until `apt-get update`."""
        (self.directory / "fresh").unlink()

    def calls(self) -> list[str]:
        """The command lines of apt so far."""
        log = self.directory / "calls"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeArchive:
    directory, programs = tmp_path / "archive", tmp_path / "bin"
    directory.mkdir()
    programs.mkdir()
    for name, script in (("apt-get", APT), ("dpkg-deb", DPKG_DEB)):
        program = programs / name
        program.write_text(script.format(python=sys.executable, archive=str(directory)))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    return FakeArchive(directory)
