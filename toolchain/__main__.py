"""`python -m toolchain build [NAME ...]`: build the tools that this machine lacks."""

import argparse
import signal
import sys

from infra.errors import TrainyardError
from toolchain import builder, pins


def main() -> int:
    """Parse, build, and print an error without a traceback."""
    modules = ", ".join(module.name for module in pins.MODULES)
    parser = argparse.ArgumentParser(prog="python -m toolchain", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build what is neither usable on PATH nor built before")
    build.add_argument(
        "names", nargs="*", metavar="NAME", help=f"a tool or a module: {modules} (default: all)"
    )
    build.add_argument("--force", action="store_true", help="build again, whatever is there")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        built = builder.build(options.names, force=options.force)
    except TrainyardError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; finished modules stay, the same command goes on\n")
        return 130
    sys.stderr.write("nothing to build\n" if not built else f"built: {', '.join(built)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
