"""Serve the policy pack: `pulumi preview --policy-pack policies` runs this directory by path."""

import sys
from pathlib import Path


def main() -> None:
    """Serve until Pulumi ends the process; imports come from this checkout, whatever else is installed."""
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from policies.pack import serve

    serve()


if __name__ == "__main__":
    main()
