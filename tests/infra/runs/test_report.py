import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from infra.runs.report import render_report

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """The text of a page, and whether its elements are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def record(**changes: Any) -> dict[str, Any]:
    return {
        "run_id": "first-words-1a2b3c4d",
        "name": "first-words",
        "stack": "local",
        "stage": "pretrain",
        "status": "finished",
        "exit": "finished",
        "started_at": "2026-12-01T15:00:00Z",
        "ended_at": "2026-12-01T15:03:42Z",
        "configuration": {"schema_version": 1, "model": {"dim": 256, "tie_embeddings": True}},
        "image": "localhost/trainyard/trainer:5f0c9a7be211",
        "image_digest": "sha256:3b7f",
        "git_commit": "4be1d0c2",
        "git_dirty": True,
        "data": {"name": "debian-docs", "version": "9f2c11ab03de77aa"},
        "seed": 1234,
        "packages": {"torch": "2.15.0", "numpy": "2.3.1"},
        "layout": {
            "nodes": 2,
            "cards_per_node": 1,
            "data": 2,
            "tensor": 1,
            "pipeline": 1,
            "world_size": 2,
        },
        "summary": {
            "steps": 4,
            "tokens_seen": 16384,
            "train_loss": 4.31,
            "validation_loss": 4.25,
            "bigram_loss": 5.5,
            "tokens_per_second": 5390.2,
            "wall_seconds": 214.0,
            "model_parameters": 5767168,
        },
        "checkpoint": {"path": "/vault/step-00000004", "step": 4, "num_bytes": 61203456},
        "attempts": 2,
    } | changes


def train(step: int, loss: float | None, *, time: float = 0.0) -> dict[str, Any]:
    return {
        "time": 1_796_130_000 + (time or step),
        "kind": "train",
        "step": step,
        "loss": loss,
        "learning_rate": 1e-3,
        "grad_norm": 0.5,
        "tokens_per_second": 5000.0 + step,
        "step_seconds": 1.0,
        "compute_seconds": 0.7,
        "communication_seconds": 0.15,
        "data_seconds": 0.05,
        "checkpoint_seconds": 0.0,
        "memory_bytes": 2**30,
        "tokens_seen": 4096 * step,
    }


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"time": 1_796_130_000.0, "kind": "event", "event": name, **fields}


METRICS = [
    event("start", detail="world size 2"),
    train(1, 8.5),
    train(2, 7.25),
    {"kind": "validation", "step": 2, "loss": 7.5},
    event("checkpoint", detail="step-00000002", step=2),
    train(3, 6.66, time=3),
    event("resumed", detail="step-00000002"),
    train(3, 6.5, time=40),
    train(4, 4.375, time=41),
    {"kind": "validation", "step": 4, "loss": 4.25},
    event("finished", detail="4 steps", step=4),
]


def charts(page: str) -> dict[str, ElementTree.Element]:
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    wide = [svg for svg in drawn if "narrow" not in svg.attrib["class"]]
    return {svg.attrib["aria-label"]: svg for svg in wide}


def readouts(svg: ElementTree.Element) -> list[str]:
    return [title.text or "" for title in svg.iterfind("g[@class='strip']/title")]


def test_the_page_is_one_balanced_self_contained_document() -> None:
    page = render_report(record(), METRICS)
    assert page.lstrip().startswith("<!doctype html>")
    assert Page(page).open == []
    assert not re.search(r"https?://|src=|@import|url\(|<link|<script", page)


def test_the_verdict_sets_the_validation_loss_beside_the_bigrams() -> None:
    better = Page(render_report(record(), METRICS)).text
    assert "Validation loss 4.250, bigram 5.500" in better
    assert "Better than a bigram model fitted on the same tokens, by 1.250 nats" in better
    worse = record(summary={"validation_loss": 5.75, "bigram_loss": 5.5})
    assert "No better than a bigram model" in Page(render_report(worse, METRICS)).text


def test_configuration_versions_layout_and_timings_are_shown() -> None:
    text = Page(render_report(record(), METRICS)).text
    for shown in (
        "first-words-1a2b3c4d",
        "dim 256",
        "tie_embeddings yes",
        "sha256:3b7f",
        "git commit 4be1d0c2 uncommitted changes yes",
        "data version 9f2c11ab03de77aa",
        "seed 1234",
        "2 packages numpy 2.3.1 torch 2.15.0",
        "world size 2",
        "took 3 min 42 s",
        "attempts 2",
        "5.77 million",
        "5,390 tokens/s",
        "size 58.4 MiB",
    ):
        assert shown in text


def test_each_curve_is_drawn_and_can_be_read_off() -> None:
    drawn = charts(render_report(record(), METRICS))
    assert list(drawn) == [
        "Loss",
        "Throughput",
        "Step time",
        "Learning rate",
        "Gradient norm",
        "Memory",
        "Progress",
    ]
    assert "step 4\ntraining: 4.375\nvalidation: 4.250" in readouts(drawn["Loss"])
    assert drawn["Loss"].find("line[@class='level c-bigram']") is not None
    assert "step 4\ncompute: 700 ms\ncommunication: 150 ms\ndata: 50 ms" in readouts(drawn["Step time"])[-1]


def test_steps_that_a_restart_repeats_show_the_last_attempts_values_once() -> None:
    drawn = charts(render_report(record(), METRICS))
    at_step_3 = [readout for readout in readouts(drawn["Loss"]) if readout.startswith("step 3\n")]
    assert at_step_3 == ["step 3\ntraining: 6.500"]
    path = drawn["Loss"].find("path[@class='line c-train']")
    assert path is not None and path.attrib["d"].count(",") == 4
    text = Page(render_report(record(), METRICS)).text
    assert "steps repeated after restarts 1" in text
    assert len(drawn["Progress"].findall("path[@class='line c-progress']")) == 2


def test_events_are_markers_and_a_table() -> None:
    page = render_report(record(), METRICS)
    loss = charts(page)["Loss"]
    assert [text.text for text in loss.iterfind("text[@class='label']")][1:] == ["resumed"]
    assert [title.text for title in loss.iterfind("path[@class='minor']/title")] == ["checkpoint"]
    assert "UTC 2 resumed step-00000002" in Page(page).text


def test_input_is_escaped_everywhere() -> None:
    attack = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
    hostile = record(
        name=attack,
        run_id=attack,
        status=attack,
        exit=attack,
        image=attack,
        configuration={attack: {attack: attack}},
        packages={attack: attack},
    )
    page = render_report(hostile, [*METRICS, event(attack, detail=attack, step=3)])
    assert "<script" not in page and "<img" not in page
    assert "&lt;script&gt;" in page
    assert Page(page).open == []


@pytest.mark.parametrize("missing", [*record(), None])
def test_missing_pieces_are_said_to_be_missing(missing: str | None) -> None:
    partial = {} if missing is None else {key: value for key, value in record().items() if key != missing}
    empty = {} if missing is None else record(**{missing: None})
    for broken in (partial, empty):
        for metrics in (METRICS, []):
            assert "not recorded" in Page(render_report(broken, metrics)).text


def test_a_running_run_shows_what_is_known_so_far() -> None:
    running = record(status="running", summary=None, ended_at=None, exit=None, checkpoint=None)
    text = Page(render_report(running, METRICS)).text
    assert "Validation loss 4.250 so far" in text
    assert "training loss 4.375" in text
    assert "took not ended yet" in text
    assert "tokens seen 16,384" in text


def test_a_failed_run_says_why() -> None:
    text = Page(
        render_report(record(status="failed", exit="exit code 78: bad config", summary=None), [])
    ).text
    assert "The run failed exit code 78: bad config" in text


def test_a_stopped_run_says_where_it_stands() -> None:
    text = Page(render_report(record(status="stopped", summary=None), METRICS)).text
    assert "Stopped at step 4 Validation loss 4.250" in text


def test_values_that_are_not_finite_are_left_out_of_the_curves() -> None:
    metrics = [train(1, 8.5), train(2, float("nan")), train(3, None), train(4, float("inf")), train(5, 7.0)]
    page = render_report(record(summary=None), metrics)
    path = charts(page)["Loss"].find("path[@class='line c-train']")
    assert path is not None and path.attrib["d"].count(",") == 2
    assert "nan" not in page and "inf," not in page


def test_the_size_of_the_page_does_not_grow_with_the_run() -> None:
    def page(num_steps: int) -> str:
        return render_report(
            record(), [train(step, 8.0 - step / num_steps) for step in range(1, num_steps + 1)]
        )

    assert len(page(20_000)) < 2 * len(page(1_000))
