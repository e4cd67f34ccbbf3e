"""Runs one Pulumi program, started by path with the program's own interpreter, needing only `pulumi`."""

import argparse
import asyncio
import contextlib
import inspect
import logging
import os
import runpy
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pulumi.runtime import Settings

EXIT_ERROR_SHOWN = 32
EXIT_INTERRUPTED = 130
THREADS_PER_OPERATION = 4


def main() -> int:
    """Run the program and return the exit code; `EXIT_ERROR_SHOWN` says that the user has seen the error."""
    options = parse()
    forget_own_directory()
    import pulumi.runtime

    secret_keys = pulumi.runtime.get_config_secret_keys_env()
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), secret_keys)
    pulumi.runtime.configure(settings(options))
    sys.argv = [options.program, *options.arguments]
    if options.pwd:
        os.chdir(options.pwd)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # a failed program leaves futures unobserved
    return run(Path(options.program).absolute(), parallel=options.parallel)


def run(path: Path, *, parallel: int) -> int:
    """Run the program at `path` inside a stack; errors go to the engine's log."""
    import grpc
    import pulumi

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(max_workers=max(parallel, 1) * THREADS_PER_OPERATION)
    loop.set_default_executor(executor)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: execute(path)))
        return 0
    except pulumi.RunError as error:
        report(str(error))
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNAVAILABLE:  # else the engine has ended, and has said why
            report(user_traceback(error))
    except Exception as error:
        report(user_traceback(error))
    finally:
        executor.shutdown(wait=True)
        loop.close()
    return EXIT_ERROR_SHOWN


def execute(path: Path) -> None:
    """Run a file, or a directory's `__main__.py`, as the main program."""
    import pulumi

    if path.is_dir() and not (path / "__main__.py").is_file():
        raise pulumi.RunError(f"unable to find main python program `__main__.py` in `{path}`")
    runpy.run_path(str(path), run_name="__main__")


def report(message: str) -> None:
    """Show an error through the engine, or to nobody when the engine is gone."""
    import grpc
    import pulumi

    with contextlib.suppress(grpc.RpcError):
        pulumi.log.error(message)


def user_traceback(error: Exception) -> str:
    """The traceback of an unhandled error from the first frame of the user's own code on."""
    import pulumi

    packages = [f"{Path(module.__file__ or '').parent}{os.sep}" for module in (pulumi, asyncio)]
    ours = (__file__, runpy.__file__, "<frozen", *packages)
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(ours):
        frame = frame.tb_next
    if frame is None and not isinstance(error, SyntaxError):
        frame = error.__traceback__
    shown = "".join(traceback.format_exception(type(error), error, frame))
    return "Program failed with an unhandled exception:\n" + shown


def settings(options: argparse.Namespace) -> "Settings":
    """The runtime's settings, without those that the program's version of the SDK does not know."""
    import pulumi.runtime

    known = inspect.signature(pulumi.runtime.Settings.__init__).parameters
    given = {
        "monitor": options.monitor,
        "engine": options.engine,
        "project": options.project,
        "stack": options.stack,
        "parallel": options.parallel,
        "dry_run": options.dry_run == "true",
        "organization": options.organization,
        "root_directory": options.root_directory,
    }
    return pulumi.runtime.Settings(**{name: value for name, value in given.items() if name in known})


def parse() -> argparse.Namespace:
    """The host's command line; see `programs.arguments`."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("monitor", "engine", "project", "stack", "pwd", "dry_run", "organization", "root_directory"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--parallel", type=int, default=0)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def forget_own_directory() -> None:
    """Keep the host's modules from shadowing the program's."""
    if sys.path and Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
        del sys.path[0]


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End at once and quietly: worker threads may wait for an engine that is gone."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except ModuleNotFoundError as missing:
        if missing.name != "pulumi":
            raise
        sys.exit(f"{sys.executable} has no Pulumi SDK: install the program's requirements into it")
