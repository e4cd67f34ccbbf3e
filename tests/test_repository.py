"""Rules that hold for every file of the repository."""

import ast
import re
import subprocess

import pytest

from infra.paths import REPOSITORY

MODULE_LINES = 300
FUNCTION_LINES = 60
ERRORS = ("TrainyardError", "InvalidInput", "Refused")
# Written in parts, so that this file does not contain what it looks for.
REGISTRY_HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "proxy." + "golang.org",
    "registry." + "npmjs",
    "crates" + ".io",
    "repo1." + "maven",
    "deb." + "debian.org",
]
LAYERS = [
    ("infra", "torch"),
    ("trainer", "infra"),
    ("trainer", "pulumi"),
    ("trainer", "kubernetes"),
    ("infra/settings", "pulumi"),
    ("infra/runs/spec.py", "pulumi"),
    ("infra/runs/render.py", "pulumi"),
    ("infra/runs/resolve.py", "pulumi"),
    ("infra/bootstrap", "pulumi"),
    ("infra/catalog", "pulumi"),
    ("infra/naming.py", "pulumi"),
]


def tracked(pattern: str = "*") -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    return subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split()


def test_no_file_names_a_package_registry_or_a_home_of_this_checkout() -> None:
    words = re.compile("|".join([*map(re.escape, REGISTRY_HOSTS), re.escape(str(REPOSITORY) + "/")]))
    found = []
    for name in tracked():
        text = (
            (REPOSITORY / name).read_text(encoding="utf-8", errors="ignore")
            if (REPOSITORY / name).is_file()
            else ""
        )
        found += [f"{name}: {hit.group()}" for hit in words.finditer(text)]
    assert found == []


@pytest.mark.parametrize(("place", "forbidden"), LAYERS)
def test_a_layer_does_not_import_what_it_must_not_know(place: str, forbidden: str) -> None:
    files = [name for name in tracked("*.py") if name == place or name.startswith(f"{place}/")]
    assert files
    assert [name for name in files if forbidden in _imports(name)] == []


@pytest.mark.parametrize(
    "place", ["infra/bootstrap", "infra/images", "infra/verify", "infra/cli", "toolchain"]
)
def test_every_error_has_a_next_step(place: str) -> None:
    raised = [
        (name, node)
        for name in tracked(f"{place}/*.py")
        for node in ast.walk(ast.parse((REPOSITORY / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS
    ]
    assert raised
    without = [call for call in raised if "next_step" not in {word.arg for word in call[1].keywords}]
    assert [f"{name}:{node.lineno}" for name, node in without] == []


def test_modules_and_functions_stay_short() -> None:
    long = []
    for name in tracked("*.py"):
        if name.startswith("tests/"):
            continue
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        long += [f"{name}: {text.count(chr(10))} lines"] if text.count("\n") > MODULE_LINES else []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                long += [f"{name}: {node.name} has {length} lines"] if length > FUNCTION_LINES else []
    assert long == []


def _imports(name: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse((REPOSITORY / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found
