"""`pulumi-language-python`: serves one engine until that engine ends it or is gone."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import grpc
from pulumi.runtime.proto import language_pb2_grpc

from toolchain.language_host import CHANNEL_OPTIONS, HOST_VERSION
from toolchain.language_host.processes import Processes
from toolchain.language_host.server import LanguageHost

PARENT_POLL_SECONDS = 1.0
NUM_THREADS = 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the port that the engine dials, then serve until a signal, or until the parent is gone."""
    options = _parse(arguments)
    stop = _stop_on_signals()
    processes = Processes()
    server = grpc.server(ThreadPoolExecutor(NUM_THREADS), options=CHANNEL_OPTIONS)
    host = LanguageHost(engine_address=options.engine, processes=processes)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    _wait(stop, parent=options.parent)
    processes.interrupt()
    server.stop(grace=1).wait()
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pulumi-language-python", description=__doc__)
    parser.add_argument("engine", nargs="?", default="", help="address of the engine, host:port")
    parser.add_argument(
        "--parent", type=int, default=os.getppid(), help="process to end with (default: parent)"
    )
    parser.add_argument("--tracing", default="", help="accepted for the engine's sake; nothing is traced")
    parser.add_argument("--logtostderr", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-v", dest="verbose", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=HOST_VERSION)
    return parser.parse_args(arguments)


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop


def _wait(stop: threading.Event, *, parent: int) -> None:
    while not stop.wait(PARENT_POLL_SECONDS):
        if os.getppid() != parent:
            return


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a handler that still waits for a dead engine must not hold the process
