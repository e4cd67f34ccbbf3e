"""Files that a downloaded module carries: embedded into the build, or kept as charts."""

import json
import stat
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.toolchain.conftest import use
from toolchain import builder, go, pins, tools

MAIN = """package main

import (
	_ "embed"

	_ "example.com/dep"
)

//go:embed schema.json
var schema string

func main() { println(schema) }
"""
FILES = {
    "go.mod": "module example.com/dep\n\ngo 1.20\n",
    "dep.go": "package dep\n",
    "cmd/schema.json": "the schema",
    "charts/dep/Chart.yaml": "name: dep\n",
    "charts/dep/templates/a.yaml": "kind: A\n",
}


@pytest.fixture
def module(tiny: pins.Module, places: Path, monkeypatch: pytest.MonkeyPatch) -> pins.Module:
    """The tiny module with a dependency from a proxy made of files."""
    versions = places / "proxy" / "example.com" / "dep" / "@v"
    versions.mkdir(parents=True)
    (versions / "v1.0.0.info").write_text(json.dumps({"Version": "v1.0.0"}))
    (versions / "v1.0.0.mod").write_text(FILES["go.mod"])
    with zipfile.ZipFile(versions / "v1.0.0.zip", "w") as archive:
        for name, content in FILES.items():
            archive.writestr(f"example.com/dep@v1.0.0/{name}", content)
    for name, value in (
        ("GOPROXY", (places / "proxy").as_uri()),
        ("GOSUMDB", "off"),
        ("GOMODCACHE", str(places / "modcache")),
        ("GOFLAGS", ""),
    ):
        monkeypatch.setenv(name, value)
    (tiny.directory / "main.go").write_text(MAIN)
    (tiny.directory / "schema.json").touch()
    path = go.installed((1, 20, 0))
    for arguments in (["get", "example.com/dep@v1.0.0"], ["mod", "tidy"]):
        subprocess.run([str(path), *arguments], cwd=tiny.directory, env=go.environment(), check=True)
    (tiny.directory / "schema.json").unlink()
    result = replace(
        tiny,
        embedded=(pins.ModuleFile("example.com/dep", "cmd/schema.json", "schema.json"),),
        charts=(pins.ModuleFile("example.com/dep", "charts/dep", "tiny"),),
    )
    use(monkeypatch, result)
    return result


def test_a_modules_file_is_embedded_without_touching_the_checkout(module: pins.Module) -> None:
    builder.build()
    output = subprocess.run([str(tools.find("tiny"))], capture_output=True, text=True, check=True)
    assert output.stderr.strip() == "the schema"
    assert not (module.directory / "schema.json").exists()


def test_a_chart_is_kept_beside_the_tools(module: pins.Module) -> None:
    builder.build()
    chart = tools.chart("tiny")
    assert (chart / "templates" / "a.yaml").read_text() == "kind: A\n"
    assert all(path.stat().st_mode & stat.S_IWUSR for path in (chart, *chart.rglob("*")))
