"""One module's build by Go, in a copy of its directory, so that the checkout stays as it is."""

import json
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from infra.errors import TrainyardError
from toolchain import go, layout, pins

PROGRESS_SECONDS = 30.0
TAIL_LINES = 25
NO_NETWORK = (
    "dial tcp",
    "no such host",
    "i/o timeout",
    "connection refused",
    "network is unreachable",
    "proxyconnect",
    "TLS handshake",
)


def compile_module(
    module: pins.Module,
    toolchain: Path,
    *,
    source: Path,
    result: Path,
    progress: Callable[[float], None],
) -> None:
    """Fill `result` with bin/ and charts/ of a module, building in `source`; raises `TrainyardError`.

    `progress` is called with the seconds of the build every half minute.
    """
    source.mkdir(parents=True)
    for path in layout.pinned_files(module):
        shutil.copy2(path, source)
    for file in module.embedded:
        _copy(_module_directory(file.module, toolchain, module, source) / file.source, source / file.target)
    (result / "bin").mkdir(parents=True)
    _run_go([str(toolchain), *build_arguments(module, result / "bin")], module, source, progress=progress)
    for file in module.charts:
        chart = _module_directory(file.module, toolchain, module, source) / file.source
        _copy(chart, result / "charts" / file.target)
    for name in module.scripts:
        shutil.copy2(module.directory / name, result / "bin" / name)


def build_arguments(module: pins.Module, directory: Path) -> list[str]:
    """The arguments of `go` that build the module's tools into a directory.

    Several tools in one command share the work; then each is named after its package's last element.
    """
    packages = [tool.package for tool in module.tools]
    output = f"{directory}/" if len(packages) > 1 else str(directory / module.tools[0].name)
    return ["build", *pins.BUILD_FLAGS, "-ldflags", module.linker_flags, "-o", output, *packages]


def _run_go(
    command: list[str], module: pins.Module, source: Path, *, progress: Callable[[float], None]
) -> None:
    log = source / "build.log"
    waited = 0.0
    with log.open("wb") as output:
        child = subprocess.Popen(
            command, cwd=source, env=go.environment(), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while True:
                try:
                    status = child.wait(PROGRESS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    waited += PROGRESS_SECONDS
                    progress(waited)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    if status != 0:
        raise _failure(module, log.read_text(errors="replace"))


def _module_directory(path: str, toolchain: Path, module: pins.Module, source: Path) -> Path:
    """Where Go keeps a downloaded module that go.mod pins; downloads it when it is not there."""
    result = subprocess.run(
        [str(toolchain), "mod", "download", "-json", path],
        cwd=source,
        env=go.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(result.stdout or "{}")
    if result.returncode != 0 or not answer.get("Dir"):
        raise _failure(module, f"{answer.get('Error', '')}\n{result.stderr}")
    return Path(answer["Dir"])


def _copy(origin: Path, target: Path) -> None:
    """Copy out of Go's read-only module cache, so that the copy can be changed and removed."""
    if origin.is_dir():
        shutil.copytree(origin, target, copy_function=shutil.copyfile)
        for path in (target, *target.rglob("*")):
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
        return
    shutil.copyfile(origin, target)


def _failure(module: pins.Module, output: str) -> TrainyardError:
    lines = [line for line in output.strip().splitlines() if not line.startswith("go: downloading")]
    tail = "\n".join(f"    {line}" for line in lines[-TAIL_LINES:])
    if any(sign in output for sign in NO_NETWORK):
        cause, step = "the Go module proxy cannot be reached", "check the network and `go env GOPROXY`"
    elif "no space left on device" in output:
        cause, step = "the disk is full", "free about 15 GB (`go env GOCACHE GOTMPDIR` says where Go writes)"
    elif "signal: killed" in output:
        cause, step = "the compiler was killed, probably for memory", "set GOFLAGS=-p=1 to build less at once"
    else:
        cause, step = "Go reports an error", "read the lines above"
    return TrainyardError(
        f"building {module.name} failed: {cause}\n{tail}", next_step=f"{step}, then run `make tools` again"
    )
