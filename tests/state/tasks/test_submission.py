"""One task and many are submitted by different statements, with the same result."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from state import NewTask, get_events, get_task, submit, submit_many
from state.database.notifier import flush_hints
from state.database.statements import statement
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.tasks.ids import new_task_id
from state.tasks.submission import insert_one
from tests.support.claims import FreePayload
from tests.support.observer import Observer

PAST = datetime.now(UTC) - timedelta(hours=1)
FUTURE = datetime.now(UTC) + timedelta(hours=1)
OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "everything": {"priority": 0, "max_attempts": 7, "tenant": "acme", "target": "page/7", "max_age_seconds": 60.5},
    "delay": {"delay_seconds": 90.5, "max_age_seconds": 10},
    "no delay": {"delay_seconds": 0},
    "later": {"available_at": FUTURE, "tenant": "acme"},
    "earlier": {"available_at": PAST},
}
# The order is the queue's own affair; times are those of the submit.
EXCEPT = ("id", "rank", "created_at", "updated_at", "available_at", "expires_at")
LIKE = "SELECT *, available_at - created_at AS due, expires_at - available_at AS age"


def _row(connection: Observer, task_id: str) -> dict[str, Any]:
    row: Any = connection.execute(f"{LIKE} FROM callboard.tasks WHERE id = %s", [task_id]).fetchone()
    return {name: value for name, value in row.items() if name not in EXCEPT}


def _pair(actor: str, payload: dict[str, Any], **options: Any) -> tuple[str, str]:
    [of_many] = submit_many([NewTask(actor, payload, **options)])
    return submit(actor, payload, **options).task_id, of_many


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_both_statements_write_the_same(connection: Observer, options: dict[str, Any]) -> None:
    one, of_many = _pair("quick", {"x": 'a "b" \\ ü', "deep": [{"n": 1.5}, None]}, **options)
    first, second = _row(connection, one), _row(connection, of_many)
    for each in (first, second):
        due = each.pop("due")
        wanted = options.get("available_at")
        assert wanted is not None or due == timedelta(seconds=options.get("delay_seconds") or 0)
    assert first == second
    assert [(e.n, e.kind, e.data) for e in get_events(one)] == [(e.n, e.kind, e.data) for e in get_events(of_many)]


@pytest.mark.parametrize("free", [True, False], ids=["free", "behind a line"])
def test_both_statements_join_a_line(connection: Observer, gated: None, free: bool) -> None:
    if not free:
        submit_many([NewTask("gated", {"gates": {"a": 1}}) for _ in range(102)])  # the last ones form a line
    one, of_many = _pair("gated", {"gates": {"b": None, "a": 1}})
    first, second = _row(connection, one), _row(connection, of_many)
    assert first["status"] == ("queued" if free else "waiting")
    assert (first["gates"], first["gate_limits"]) == (["a", "b"], [1, None])
    del first["due"], second["due"]
    assert first == second
    assert get_events(one)[0].data == get_events(of_many)[0].data


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_answer_equals_a_read(options: dict[str, Any]) -> None:
    catalog.register(ActorSpec("aging", "one", FreePayload, 3, lambda: 600, 60, STANDARD_POLICY, ""))
    answered = submit("aging", {"x": 1}, **options)
    read = get_task(answered.task_id)
    assert {**answered.model_dump(), "progress": None} == {**read.model_dump(), "progress": None}
    assert answered.progress["percent"] == read.progress["percent"] == 0
    answered.usage["tokens"] = 7
    assert submit("aging", {}).usage["tokens"] == 0  # tasks share no data
    assert datetime.fromisoformat(answered.progress["updated_at"]) == answered.created_at


def test_a_repetition_after_a_lost_connection_adds_nothing(connection: Observer) -> None:
    row = {**NewTask("quick", {"x": 1}).to_row(), "id": new_task_id()}
    first = insert_one(row, conn=None)
    flush_hints()
    connection.execute("LISTEN callboard_work")
    second = insert_one(row, conn=None)
    assert first.model_dump(exclude={"progress"}) == second.model_dump(exclude={"progress"})
    # One or two: the hint of the first may still be on its way.
    assert {each.payload for each in connection.notifies(timeout=10, stop_after=1)} == {"one"}
    count: Any = connection.execute("SELECT count(*) AS n FROM callboard.events").fetchone()
    assert count["n"] == 1


@pytest.mark.parametrize("gates", ["{}", "{a}"])
def test_a_burst_that_is_not_in_the_statistics_slows_no_submit(connection: Observer, gates: str) -> None:
    """Planned while the table was small, a submit must not read the whole backlog that has come since."""
    connection.execute("ALTER TABLE callboard.tasks SET (autovacuum_enabled = off)")
    submit_many([NewTask("quick", {}, tenant=f"tenant {number}") for number in range(20)])
    connection.execute("VACUUM ANALYZE callboard.tasks")
    task = {**NewTask("quick", {}).to_row(), "payload": "{}", "gates": gates, "gate_limits": "{}"}
    query = statement("submit_one")
    for number in range(10):  # long enough for a plan that stays
        connection.execute(query, {**task, "id": new_task_id(), "tenant": f"before {number}"}, prepare=True)
    submit_many([NewTask("quick", {}, tenant="burst") for _ in range(5000)])
    for tenant in ("newcomer", "burst"):
        asked = {**task, "id": new_task_id(), "tenant": tenant}
        shown = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", asked)
        row: Any = shown.fetchone()
        plan = row["QUERY PLAN"][0]["Plan"]
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 150, tenant
