"""`python -m trainer`: what a pod runs, and the tools around it."""

import argparse
import json
import sys
from pathlib import Path
from typing import TypeAlias

from trainer.errors import EXIT_OK, TrainerError

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DEFAULT_CONFIG = Path("/etc/trainyard/run.yaml")


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; errors with a meaning print one message and give its exit code."""
    options = build_parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except TrainerError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return code


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer",
        description="Train a language model as one run file says.",
        epilog="Exit codes: 0 done, 1 failed (a retry may help), 2 wrong usage, 78 a retry cannot help, "
        "143 stopped by SIGTERM.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_run(commands)
    _add_data(commands)
    _add_export(commands)
    return parser


def _add_run(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "run",
        help="run this pod's part of a training run",
        description="Start the ranks, resume from the newest whole checkpoint, train to the last step. "
        "Reads NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR and MASTER_PORT (default: one process).",
    )
    _add_config(parser)
    parser.set_defaults(command=_run)


def _add_data(commands: Subparsers) -> None:
    parser = commands.add_parser("data", help="prepare or verify a data set")
    actions = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_prepare(actions)
    verify = actions.add_parser(
        "verify",
        help="prove a run's data set whole and fill the node's cache",
        description="Check file count, sizes, checksums, rows and format; copy what passes to the cache.",
    )
    _add_config(verify)
    verify.add_argument("--dataset", type=Path, help="check this data set alone, no run file or cache")
    verify.set_defaults(command=_verify)


def _add_prepare(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "prepare",
        help="build a data set from cleaned text",
        description="Train a tokenizer on a directory of text, write token shards and their manifest. Does "
        "nothing when the data set is up to date. Prints the directory and version as JSON.",
    )
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        help='directory of .txt files (one document each) and .jsonl files ({"text": ..., "source": ...})',
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        help="the data set's directory NAME, or the directory to make it in",
    )
    parser.add_argument("--name", required=True, help="name of the data set")
    parser.add_argument("--vocab-size", type=int, default=8192, help="tokens in the vocabulary (%(default)s)")
    parser.add_argument(
        "--validation-fraction", type=float, default=0.02, help="share of the text to hold out (%(default)s)"
    )
    parser.add_argument(
        "--lineage", type=Path, help="JSON object on where the text came from, kept in the manifest"
    )
    parser.set_defaults(command=_prepare)


def _add_export(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "export",
        help="write a checkpoint in the format of transformers' Llama",
        description="Write config.json, model.safetensors and tokenizer.json for serving and evaluation.",
    )
    parser.add_argument(
        "--checkpoint", type=Path, required=True, help="a checkpoint, or a run's directory of checkpoints"
    )
    parser.add_argument("--output", type=Path, required=True, help="directory to write")
    parser.add_argument("--tokenizer", type=Path, help="the data set's tokenizer.json")
    parser.set_defaults(command=_export)


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG, help="run file (%(default)s)")


def _run(options: argparse.Namespace) -> int:
    from trainer import launch

    return launch.run(options.config)


def _verify(options: argparse.Namespace) -> int:
    from trainer import config
    from trainer.data.verify import fill_cache, verify

    if options.dataset:
        _tell(f"{options.dataset}: whole; version {verify(options.dataset).version}")
        return EXIT_OK
    data = config.load(options.config).data
    directory, was_there = fill_cache(Path(data.dataset), Path(data.cache), version=data.version)
    _tell(f"{data.dataset}: whole; {'found' if was_there else 'copied'} in {directory}")
    return EXIT_OK


def _prepare(options: argparse.Namespace) -> int:
    from trainer.data.prepare import Settings, prepare, read_lineage

    output: Path = options.output if options.output.name == options.name else options.output / options.name
    settings = Settings(
        name=options.name, vocab_size=options.vocab_size, validation_fraction=options.validation_fraction
    )
    lineage = read_lineage(options.lineage) if options.lineage else None
    manifest = prepare(options.input, output, settings=settings, report=_tell, lineage=lineage)
    sys.stdout.write(json.dumps({"dataset": str(output), "version": manifest.version}) + "\n")
    return EXIT_OK


def _export(options: argparse.Namespace) -> int:
    from trainer.export import export

    used = export(options.checkpoint, options.output, tokenizer=options.tokenizer)
    _tell(f"{options.output}: exported from {used}")
    return EXIT_OK


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
