from infra.runs.curves.history import read_history


def train(step: int, loss: float) -> dict[str, object]:
    return {"kind": "train", "step": step, "loss": loss, "time": float(step)}


def test_going_back_forgets_what_the_lost_steps_measured() -> None:
    history = read_history(
        [
            train(1, 9.0),
            train(2, 8.0),
            train(3, 7.0),
            {"kind": "validation", "step": 2, "loss": 8.1},
            {"kind": "validation", "step": 3, "loss": 7.1},
            train(3, 6.0),
        ]
    )
    assert history.points("loss") == [(1.0, 9.0), (2.0, 8.0), (3.0, 6.0)]
    assert history.points("loss", kind="validation") == [(2.0, 8.1)]
    assert [step for _, step in history.progress] == [1.0, 2.0, 3.0, 3.0]


def test_later_steps_of_a_lost_attempt_are_forgotten_while_the_new_one_catches_up() -> None:
    history = read_history([train(step, 9.0) for step in range(1, 8)] + [train(4, 5.0)])
    assert history.points("loss") == [(1.0, 9.0), (2.0, 9.0), (3.0, 9.0), (4.0, 5.0)]


def test_events_lie_at_the_step_they_name_else_at_the_step_reached() -> None:
    events = read_history(
        [
            {"kind": "event", "event": "start", "detail": None},
            train(7, 9.0),
            {"kind": "event", "event": "stalled", "detail": "rank 1"},
            {"kind": "event", "event": "checkpoint", "detail": "written", "step": 5},
            {"kind": "event", "event": "resumed", "detail": "step-00000003"},
            {"kind": "event", "event": "rolled back", "detail": {"step": 2, "why": "spike"}},
        ]
    ).events
    assert [(event.name, event.step) for event in events] == [
        ("start", 0),
        ("stalled", 7),
        ("checkpoint", 5),
        ("resumed", 3),
        ("rolled back", 2),
    ]
    assert events[-1].detail == "step 2, why spike"


def test_lines_that_are_not_understood_are_ignored() -> None:
    history = read_history(
        [{}, {"kind": "train"}, {"kind": "train", "step": "x"}, {"kind": "else", "step": 1}]
    )
    assert not history.train and not history.validation and not history.events
