"""The last lines of `make up`: what came out of a run, and what to do next."""

from pathlib import Path
from typing import Any

import typer


def print_summary(record: dict[str, Any], report: Path) -> None:
    """Name the run, its validation loss beside the bigram model's, its speed, checkpoint and report."""
    summary = record.get("summary") or {}
    typer.echo("")
    typer.echo(f"run          {record['run_id']}  {record['status']}" + _reason(record))
    if summary:
        typer.echo(f"loss         {_verdict(summary['validation_loss'], summary['bigram_loss'])}")
        typer.echo(f"speed        {summary['tokens_per_second']:,.0f} tokens/s, {_workers(record)}")
    checkpoint = record.get("checkpoint")
    typer.echo(f"checkpoint   {checkpoint['path'] if checkpoint else 'none'}")
    typer.echo(f"record       {report.with_name('record.json')}")
    typer.echo(f"report       {report}")
    typer.echo(
        f"next         trainyard status | trainyard logs {record['run_id']} | make preview | make down"
    )


def _reason(record: dict[str, Any]) -> str:
    return f": {record['exit']}" if record["status"] == "failed" else ""


def _verdict(validation: float, bigram: float) -> str:
    relation = "below" if validation < bigram else "NOT below"
    return f"validation {validation:.4f}, {relation} a bigram model's {bigram:.4f} on the same tokens"


def _workers(record: dict[str, Any]) -> str:
    layout = record["layout"]
    return f"{layout['nodes']} workers x {layout['cards_per_node']}, {record['attempts']} attempt(s)"
