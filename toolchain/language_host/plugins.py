"""RunPlugin: policy packs, and plugins written in Python, in processes of their own."""

import queue
import re
import subprocess
import threading
import tomllib
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import grpc
from pulumi.runtime.proto import language_pb2

from toolchain.language_host.analyzer_proxy import AnalyzerProxy
from toolchain.language_host.errors import HostError
from toolchain.language_host.interpreter import Interpreter, interpreter
from toolchain.language_host.processes import Processes, end

ANALYZER = "analyzer"
CHUNK_BYTES = 64 * 1024
ERROR_TAIL_BYTES = 4 * 1024
PORT_LINE = re.compile(rb"^(\d+)\r?\n", re.MULTILINE)


def run_plugin(request: Any, context: grpc.ServicerContext, *, processes: Processes) -> Iterator[Any]:
    """Start the plugin and yield a `RunPluginResponse` for each piece of output and last the exit code."""
    if request.attach_debugger:
        raise HostError("attaching a debugger needs the official pulumi-language-python")
    if request.kind == ANALYZER:
        yield from _run_policy_pack(request, context, processes=processes)
        return
    python = interpreter(request.info, is_plugin=True)
    base = dict(entry.split("=", 1) for entry in request.env)
    child = processes.start(
        [python.executable, *_plugin_arguments(request)],
        environment=python.environment(base),
        directory=Path(request.pwd),
        capture=True,
    )
    _end_with_request(child, context)
    yield from _output(child, processes=processes)


def _run_policy_pack(request: Any, context: grpc.ServicerContext, *, processes: Processes) -> Iterator[Any]:
    python = interpreter(request.info)
    with AnalyzerProxy() as proxy:
        yield language_pb2.RunPluginResponse(stdout=f"{proxy.port}\n".encode())
        if not context.add_callback(proxy.close):
            return
        configuration = proxy.await_configuration()
        if configuration is None:
            return
        child = processes.start(
            [python.executable, "-u", "-m", "pulumi.policy", *request.args, request.info.program_directory],
            environment=_pack_environment(request, python, configuration),
            directory=Path(request.info.program_directory),
            capture=True,
        )
        _end_with_request(child, context)
        yield from _attached(_output(child, processes=processes), proxy)


def _attached(pieces: Iterator[Any], proxy: AnalyzerProxy) -> Iterator[Any]:
    """Take the line with the pack's port out of its output and attach the proxy to it."""
    printed = errors = b""
    for piece in pieces:
        kind = piece.WhichOneof("output")
        if kind == "exitcode":
            proxy.fail(errors.decode(errors="replace").strip())
        errors = (errors + piece.stderr)[-ERROR_TAIL_BYTES:]
        if kind != "stdout" or proxy.attached:
            yield piece
            continue
        printed += piece.stdout
        if port := PORT_LINE.search(printed):
            proxy.attach(int(port[1]))
            yield _piece("stdout", printed[: port.start()] + printed[port.end() :])


def _pack_environment(request: Any, python: Interpreter, configuration: Mapping[str, str]) -> dict[str, str]:
    base = dict(entry.split("=", 1) for entry in request.env)
    return python.environment({**base, **configuration})


def _plugin_arguments(request: Any) -> list[str]:
    root = Path(request.info.root_directory)
    if (root / "__main__.py").is_file():
        return [request.info.program_directory, *request.args]
    manifest = root / "pyproject.toml"
    if not manifest.is_file():
        raise HostError(f"{root} is no plugin: it has neither __main__.py nor pyproject.toml")
    name = tomllib.loads(manifest.read_text()).get("project", {}).get("name")
    if not name:
        raise HostError(f"{manifest} has no project name")
    return ["-m", "pulumi.run.plugin", name, *request.args]


def _end_with_request(child: subprocess.Popen[bytes], context: grpc.ServicerContext) -> None:
    if not context.add_callback(lambda: end(child)):
        end(child)


def _output(child: subprocess.Popen[bytes], *, processes: Processes) -> Iterator[Any]:
    pieces: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
    streams = {"stdout": child.stdout, "stderr": child.stderr}
    for name, stream in streams.items():
        assert isinstance(stream, BufferedReader)
        threading.Thread(target=_read, args=(name, stream, pieces), daemon=True).start()
    open_streams = len(streams)
    while open_streams:
        name, data = pieces.get()
        if data:
            yield _piece(name, data)
        else:
            open_streams -= 1
    yield language_pb2.RunPluginResponse(exitcode=processes.wait(child))


def _piece(name: str, data: bytes) -> Any:
    if name == "stdout":
        return language_pb2.RunPluginResponse(stdout=data)
    return language_pb2.RunPluginResponse(stderr=data)


def _read(name: str, stream: BufferedReader, pieces: "queue.SimpleQueue[tuple[str, bytes]]") -> None:
    while data := stream.read1(CHUNK_BYTES):
        pieces.put((name, data))
    pieces.put((name, b""))
