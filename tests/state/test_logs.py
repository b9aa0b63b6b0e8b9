"""Log lines of moves: one for a task alone, one for all tasks of a batch that make the same move."""

import json
from typing import Any

import pytest
import structlog

from state.logs import log_transitions, write_together

Lines = list[dict[str, Any]]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setattr("state.logs._enabled_levels", ("info",))

    def read(rows: list[dict[str, Any]], **common: str | None) -> Lines:
        log_transitions(rows, **common)
        return [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    return read


def move(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"tq_{number}", "actor": "quick", "epoch": number, "status": "completed", **fields}


def test_one_task_is_a_line_with_its_id(logged: Any) -> None:
    [line] = logged([move(1)], worker="w")
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "task_id": "tq_1", "actor": "quick", "epoch": 1, "from": "running", "to": "completed", "worker": "w",
        "event": "transition", "level": "info",
    }  # fmt: skip


def test_tasks_that_make_the_same_move_share_a_line(logged: Any) -> None:
    rows = [move(1), move(2), move(3, status="dead"), move(4, actor='a "b"'), move(5, before="queued"), move(6)]
    shared, *others = logged(rows, worker="w")
    assert (shared["event"], shared["tasks"], shared["to"]) == (
        "transitions",
        {"tq_1": 1, "tq_2": 2, "tq_6": 6},
        "completed",
    )
    assert [(line["task_id"], line["to"], line["from"], line["actor"]) for line in others] == [
        ("tq_3", "dead", "running", "quick"),
        ("tq_4", "completed", "running", 'a "b"'),
        ("tq_5", "completed", "queued", "quick"),
    ]


def test_what_is_the_same_for_all_comes_before_what_a_row_says(logged: Any) -> None:
    [line] = logged(
        [move(1, before="queued", worker_id="w1"), move(2, before="waiting")], **{"from": None, "worker": None}
    )
    assert (line["from"], line["worker"], len(line["tasks"])) == (None, None, 2)
    lines = logged([move(1, worker_id="w1"), move(2, worker_id="w2")])
    assert [line["worker"] for line in lines] == ["w1", "w2"]


def test_what_the_application_has_bound_is_on_the_line_and_masked(logged: Any) -> None:
    with structlog.contextvars.bound_contextvars(
        request_id="rq_1", api_key="hunter2", key="a", sizes=[1, "sk-" + "a" * 24]
    ):
        [line] = logged([move(1)])
    assert (line["request_id"], line["api_key"], line["key"], line["sizes"]) == ("rq_1", "***", "a", [1, "***"])


def test_lines_can_be_written_together(logged: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with write_together():
        assert logged([move(1)]) == []
        log_transitions([move(2)])
        assert not capsys.readouterr().err
    assert [json.loads(line)["task_id"] for line in capsys.readouterr().err.splitlines()] == ["tq_1", "tq_2"]


def test_what_was_kept_is_written_also_after_an_error(capsys: pytest.CaptureFixture[str], logged: Any) -> None:
    def fail() -> None:
        with write_together():
            log_transitions([move(1)])
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        fail()
    assert json.loads(capsys.readouterr().err)["task_id"] == "tq_1"
