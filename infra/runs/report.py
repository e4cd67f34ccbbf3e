"""A run's report: one self-contained HTML page made of its record and its metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from infra.runs.curves import wording
from infra.runs.curves.figures import loss_figure, small_figures
from infra.runs.curves.history import History, number, read_history
from infra.runs.curves.wording import NOT_RECORDED, lookup

Record = dict[str, Any]
Row = tuple[str, str]


@dataclass(frozen=True)
class Verdict:
    """What came out, in a sentence: `tone` is good, bad or open; bars compare the losses in percent."""

    tone: str
    headline: str
    detail: str
    bars: Sequence[tuple[str, str, str, float]] = ()


@dataclass(frozen=True)
class Table:
    """A titled list of names and values."""

    title: str
    rows: Sequence[Row]


def render_report(record: Record, metrics: list[dict[str, Any]]) -> str:
    """Return the page for `record` (as infra/runs/records.py writes it) and the lines of metrics.jsonl.

    Pure: reads nothing but its templates. What is missing shows as "not recorded". All input is escaped.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    history = read_history(metrics)
    return environment.get_template("report.html.j2").render(
        name=wording.text(record.get("name")),
        status=wording.text(record.get("status")),
        facts=_facts(record),
        verdict=_verdict(record, history),
        tiles=_tiles(record, history),
        loss=loss_figure(history, bigram_loss=number(lookup(record, "summary.bigram_loss"))),
        figures=small_figures(history),
        events=_events(history),
        tables=_tables(record, history),
        configuration=_configuration(record.get("configuration")),
        packages=_packages(record.get("packages")),
    )


def _facts(record: Record) -> list[Row]:
    return [
        ("run", wording.text(record.get("run_id"))),
        ("stage", wording.text(record.get("stage"))),
        ("stack", wording.text(record.get("stack"))),
        ("started", wording.moment(record.get("started_at"))),
        ("took", _took(record)),
    ]


def _verdict(record: Record, history: History) -> Verdict:
    validation, bigram = _validation_loss(record, history), number(lookup(record, "summary.bigram_loss"))
    bars = _bars(validation, bigram)
    status = record.get("status")
    if status == "failed":
        return Verdict("bad", "The run failed", wording.text(record.get("exit")), bars)
    if status == "stopped":
        reached = max(history.train, default=0)
        detail = f"Validation loss {wording.loss(validation)}"
        return Verdict("open", f"Stopped at step {reached:,}", detail, bars)
    if validation is None:
        return Verdict("open", "No verdict yet", f"validation loss: {NOT_RECORDED}", bars)
    if bigram is None:
        detail = f"bigram loss: {NOT_RECORDED}; it is measured when the run ends"
        return Verdict("open", f"Validation loss {validation:.3f} so far", detail, bars)
    return _comparison(validation, bigram, bars)


def _comparison(validation: float, bigram: float, bars: Sequence[tuple[str, str, str, float]]) -> Verdict:
    gap = f"{abs(bigram - validation):.3f} nats per token"
    losses = f"Validation loss {validation:.3f}, bigram {bigram:.3f}"
    if validation < bigram:
        return Verdict(
            "good", losses, f"Better than a bigram model fitted on the same tokens, by {gap}.", bars
        )
    return Verdict(
        "bad", losses, f"No better than a bigram model fitted on the same tokens: {gap} above it.", bars
    )


def _bars(validation: float | None, bigram: float | None) -> list[tuple[str, str, str, float]]:
    losses = [("validation", "c-validation", validation), ("bigram", "c-bigram", bigram)]
    known = [(label, colour, value) for label, colour, value in losses if value is not None]
    if len(known) < len(losses):
        return []
    longest = max(value for _, _, value in known) or 1.0
    return [
        (label, colour, wording.loss(value), round(max(0.0, 100 * value / longest), 1))
        for label, colour, value in known
    ]


def _tiles(record: Record, history: History) -> list[Row]:
    speed = _first(lookup(record, "summary.tokens_per_second"), _median(history, "tokens_per_second"))
    return [
        ("training loss", wording.loss(_first(lookup(record, "summary.train_loss"), _last(history, "loss")))),
        ("throughput", wording.rate(speed, "tokens/s")),
        (
            "tokens seen",
            wording.count(_first(lookup(record, "summary.tokens_seen"), _last(history, "tokens_seen"))),
        ),
        ("steps", wording.count(_first(lookup(record, "summary.steps"), max(history.train, default=None)))),
        ("parameters", wording.count(lookup(record, "summary.model_parameters"))),
        ("wall time", wording.duration(lookup(record, "summary.wall_seconds"))),
    ]


def _tables(record: Record, history: History) -> list[Table]:
    return [
        Table("Versions", _versions(record)),
        Table("Layout", _layout(record)),
        Table("Timings", _timings(record, history)),
        Table("Checkpoint", _checkpoint(record)),
    ]


def _versions(record: Record) -> list[Row]:
    return [
        ("image", wording.text(record.get("image"))),
        ("image digest", wording.text(record.get("image_digest"))),
        ("git commit", wording.text(record.get("git_commit"))),
        ("uncommitted changes", wording.text(record.get("git_dirty"))),
        ("data set", wording.text(lookup(record, "data.name"))),
        ("data version", wording.text(lookup(record, "data.version"))),
        ("seed", wording.text(record.get("seed"))),
    ]


def _layout(record: Record) -> list[Row]:
    names = ("nodes", "cards_per_node", "data", "tensor", "pipeline", "world_size")
    labels = ("nodes", "cards a node", "data parallel", "tensor parallel", "pipeline parallel", "world size")
    return [
        (label, wording.text(lookup(record, f"layout.{name}")))
        for label, name in zip(labels, names, strict=True)
    ]


def _timings(record: Record, history: History) -> list[Row]:
    repeated = max(0, len(history.progress) - len(history.train))
    return [
        ("started", wording.moment(record.get("started_at"))),
        ("ended", wording.moment(record.get("ended_at"))),
        ("took", _took(record)),
        ("median step", wording.duration(_median(history, "step_seconds"))),
        ("attempts", wording.text(record.get("attempts"))),
        ("steps repeated after restarts", wording.count(repeated if history.progress else None)),
    ]


def _checkpoint(record: Record) -> list[Row]:
    return [
        ("step", wording.text(lookup(record, "checkpoint.step"))),
        ("size", wording.num_bytes(lookup(record, "checkpoint.num_bytes"))),
        ("path", wording.text(lookup(record, "checkpoint.path"))),
        ("exit", wording.text(record.get("exit"))),
    ]


def _events(history: History) -> list[tuple[str, str, str, str]]:
    return [
        (wording.moment(event.time), str(event.step), event.name, event.detail) for event in history.events
    ]


def _configuration(configuration: object) -> list[Table]:
    if not isinstance(configuration, dict):
        return []
    sections = {key: value for key, value in configuration.items() if isinstance(value, dict)}
    single = {key: value for key, value in configuration.items() if key not in sections}
    general = [Table("general", _flatten(single))] if single else []
    return general + [Table(str(name), _flatten(section)) for name, section in sections.items()]


def _flatten(section: dict[Any, Any], prefix: str = "") -> list[Row]:
    rows: list[Row] = []
    for key, value in section.items():
        if isinstance(value, dict) and value:
            rows += _flatten(value, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", wording.text(value)))
    return rows


def _packages(packages: object) -> list[Row]:
    if not isinstance(packages, dict):
        return []
    return sorted((str(name), wording.text(version)) for name, version in packages.items())


def _took(record: Record) -> str:
    if record.get("status") == "running":
        return "not ended yet"
    started, ended = (
        wording.parse_moment(record.get("started_at")),
        wording.parse_moment(record.get("ended_at")),
    )
    return (
        NOT_RECORDED
        if started is None or ended is None
        else wording.duration((ended - started).total_seconds())
    )


def _validation_loss(record: Record, history: History) -> float | None:
    found = number(lookup(record, "summary.validation_loss"))
    return _last(history, "loss", kind="validation") if found is None else found


def _first(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _last(history: History, name: str, *, kind: str = "train") -> float | None:
    points = history.points(name, kind=kind)
    return points[-1][1] if points else None


def _median(history: History, name: str) -> float | None:
    points = history.points(name)
    return median(value for _, value in points) if points else None
