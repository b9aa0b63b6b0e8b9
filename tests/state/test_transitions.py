"""The list of legal moves, and the database's copy of it."""

import itertools

import psycopg
import pytest

from state import submit
from state.transitions import FINISHED, LIVE, MOVES, STARTABLE, STATUSES, TERMINAL
from tests.support.observer import Observer


def put(connection: Observer, task_id: str, status: str) -> None:
    """Sets a status without the guard."""
    with connection.transaction():
        connection.execute("ALTER TABLE callboard.tasks DISABLE TRIGGER guard_moves")
        connection.execute("UPDATE callboard.tasks SET status = %s WHERE id = %s", [status, task_id])
        connection.execute("ALTER TABLE callboard.tasks ENABLE TRIGGER guard_moves")


def test_every_pair_of_statuses(connection: Observer) -> None:
    task_id = submit("quick", {}).task_id
    for before, after in itertools.permutations(STATUSES, 2):
        put(connection, task_id, before)
        move = "UPDATE callboard.tasks SET status = %s WHERE id = %s"
        if after in MOVES[before]:
            connection.execute(move, [after, task_id])
        else:
            with pytest.raises(psycopg.Error, match=f"{before} -> {after}") as refused:
                connection.execute(move, [after, task_id])
            assert refused.value.sqlstate == "CB001"


@pytest.mark.parametrize("status", sorted(set(STATUSES) - STARTABLE))
def test_nothing_is_born_in_the_middle(connection: Observer, status: str) -> None:
    template = submit("quick", {}).task_id
    columns = connection.execute(
        "SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns "
        "WHERE table_schema = 'callboard' AND table_name = 'tasks' AND column_name NOT IN ('id', 'status')"
    ).fetchone()
    assert columns is not None
    with pytest.raises(psycopg.Error, match="cannot begin") as refused:
        connection.execute(
            f"INSERT INTO callboard.tasks (id, status, {columns['names']}) "
            f"SELECT 'tq_new', %s, {columns['names']} FROM callboard.tasks WHERE id = %s",
            [status, template],
        )
    assert refused.value.sqlstate == "CB001"


def test_one_illegal_row_stops_the_whole_statement(connection: Observer) -> None:
    fine, finished = submit("quick", {}).task_id, submit("quick", {}).task_id
    put(connection, finished, "completed")
    with pytest.raises(psycopg.Error):
        connection.execute("UPDATE callboard.tasks SET status = 'canceled'")
    row = connection.execute("SELECT status FROM callboard.tasks WHERE id = %s", [fine]).fetchone()
    assert row == {"status": "queued"}


def test_terminal_means_terminal() -> None:
    assert MOVES["completed"] == MOVES["canceled"] == frozenset()
    assert {"completed", "canceled"} == TERMINAL
    assert {"completed", "canceled", "dead"} == FINISHED
    assert {"scheduled", "queued", "waiting", "running", "paused"} == LIVE
    assert STARTABLE < LIVE
