"""The numbers of tasks by status: exact whatever happens at the same time, without reading the history."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

import state
from state.database import connect
from state.database.statements import statement
from state.errors import StateError
from state.maintenance import sweep
from state.metrics.snapshot import take_snapshot
from state.tasks.queues import get_queue_status
from state.transitions import STATUSES
from state.workers.leases import Settlement, settle
from tests.support.builders import TaskBuilder
from tests.support.claims import BOOM, Claimer
from tests.support.observer import Observer

HISTORY = """
INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, available_at, created_at,
                             updated_at, hidden_at)
SELECT 'tq_' || lpad(to_hex(n), 32, '0'), 'quick', 'one',
       CASE n % 5 WHEN 0 THEN 'canceled' WHEN 1 THEN 'dead' ELSE 'completed' END, 2, n, '{}', 3, now(), now(), now(),
       CASE WHEN n % 7 = 0 THEN now() END
FROM generate_series(1, %s) n
"""


def count(connection: Observer) -> dict[str, int]:
    """Counts the tasks themselves."""
    rows = connection.execute(
        "SELECT status, count(*) AS tasks FROM callboard.tasks WHERE hidden_at IS NULL GROUP BY status"
    )
    return dict.fromkeys(STATUSES, 0) | {row["status"]: row["tasks"] for row in rows}


def make_history(connection: Observer, tasks: int) -> None:
    """Makes finished tasks of the time before anybody counted them."""
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # without triggers
        connection.execute(HISTORY.replace("n %", "n %%"), [tasks])


def count_rows(connection: Observer) -> int:
    rows: int = connection.fetch_one("SELECT count(*) AS n FROM callboard.finished_counts")["n"]
    return rows


def test_all_eight_are_there(connection: Observer, make_task: TaskBuilder) -> None:
    assert get_queue_status()["states"] == dict.fromkeys(STATUSES, 0)
    for status in STATUSES:
        make_task(status)
    assert get_queue_status()["states"] == dict.fromkeys(STATUSES, 1) == count(connection)


def test_deleted_tasks_do_not_count(connection: Observer, make_task: TaskBuilder) -> None:
    made = [make_task(status) for status in ("completed", "canceled", "dead", "dead")]
    for task in made[:3]:
        state.delete(task.task_id)
    status = get_queue_status()
    assert status["states"] == count(connection)
    assert status["queues"]["dlq"] == len(state.list_dead_letters()) == 1


def test_what_is_rolled_back_is_not_counted(connection: Observer, make_task: TaskBuilder) -> None:
    make_task("completed")
    task_id = make_task("queued").task_id
    connection.execute("BEGIN")
    connection.execute("UPDATE callboard.tasks SET status = 'canceled' WHERE id = %s", [task_id])
    connection.execute("ROLLBACK")
    assert get_queue_status()["states"] == count(connection)


def test_many_at_once_are_counted_exactly(connection: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads submit, run, fail, retry, cancel, dismiss and delete tasks, and a fourth adds the counts up."""
    monkeypatch.setattr(sweep, "_MANY_COUNTS", 5)
    done = threading.Event()

    def fold() -> None:
        while not done.is_set():
            sweep.remove_leftovers()

    folders = [threading.Thread(target=fold) for _ in range(2)]
    players = [threading.Thread(target=play, args=(seed,)) for seed in range(3)]
    for thread in (*folders, *players):
        thread.start()
    for thread in players:
        thread.join()
    done.set()
    for thread in folders:
        thread.join()
    found = count(connection)
    assert min(found[status] for status in ("completed", "canceled", "dead")) > 0
    assert get_queue_status()["states"] == found
    assert get_queue_status()["queues"]["dlq"] == len(state.list_dead_letters(limit=500))


def play(seed: int) -> None:
    chance = random.Random(seed)
    ids: list[str] = []
    verbs: list[Callable[[str], object]] = [
        state.cancel,
        state.pause,
        state.resume,
        state.retry,
        state.dismiss,
        state.delete,
    ]
    with connect("worker") as own:
        claim = Claimer(own)
        for _ in range(120):
            ids.append(state.submit("quick", {}).task_id)
            if chance.random() < 0.6:
                ends = [
                    Settlement(each.id, each.epoch, "completed") if chance.random() < 0.5
                    else Settlement(each.id, each.epoch, "failed", error=BOOM)
                    for each in claim(chance.randint(1, 3), f"w{seed}")
                ]  # fmt: skip
                settle(own, f"w{seed}", ends)
            with suppress(StateError):  # not possible in this status
                chance.choice(verbs)(chance.choice(ids))


def test_rows_are_added_up(connection: Observer, make_task: TaskBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        make_task("canceled")
    make_task("dead")
    state.retry(make_task("dead").task_id)  # one more and one fewer
    found = count(connection)
    monkeypatch.setattr(sweep, "_MANY_COUNTS", count_rows(connection) + 1)
    sweep.remove_leftovers()
    assert count_rows(connection) > 2  # few rows are left as they are: an idle cluster writes nothing
    monkeypatch.setattr(sweep, "_MANY_COUNTS", 2)
    sweep.remove_leftovers()
    assert count_rows(connection) == 2
    assert get_queue_status()["states"] == found


def list_dead(connection: Observer) -> list[dict[str, object]]:
    """Counts the dead letters themselves."""
    return connection.execute(
        """SELECT actor, error ->> 'type' AS error_type, count(*) AS tasks FROM callboard.tasks
           WHERE status = 'dead' AND hidden_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2"""
    ).fetchall()


def make_dead_letters(make_task: TaskBuilder) -> None:
    made = [make_task("dead", error_type=name).task_id for name in ("Boom", "Boom", "Boom", "Boom", "Late", "Late")]
    state.retry(made[0])
    state.dismiss(made[1])
    state.delete(made[4])


def test_dead_letters_are_counted_by_actor_and_type_of_error(
    connection: Observer, make_task: TaskBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dead_letters(make_task)
    expected = [
        {"actor": "quick", "error_type": "Boom", "tasks": 2},
        {"actor": "quick", "error_type": "Late", "tasks": 1},
    ]
    assert take_snapshot().dead == expected == list_dead(connection)
    monkeypatch.setattr(sweep, "_MANY_COUNTS", 2)
    sweep.remove_leftovers()
    assert take_snapshot().dead == expected


def test_what_an_earlier_release_has_counted_is_counted_again(connection: Observer, make_task: TaskBuilder) -> None:
    """Its maintainer adds rows up without their actors, also after the migration."""
    make_dead_letters(make_task)
    connection.execute(
        """WITH gone AS (DELETE FROM callboard.finished_counts RETURNING status, tasks)
           INSERT INTO callboard.finished_counts (status, tasks) SELECT status, sum(tasks) FROM gone GROUP BY status"""
    )
    make_task("dead", error_type="New")
    expected = list_dead(connection)
    assert take_snapshot().dead == expected  # from the first moment
    for _ in range(2):  # the second one finds nothing to do
        sweep.remove_leftovers()
        rows = count_rows(connection)
        assert take_snapshot().dead == expected
        assert get_queue_status()["states"] == count(connection)
    sweep.remove_leftovers()
    assert count_rows(connection) == rows


def test_the_dead_letters_are_not_read(connection: Observer) -> None:
    make_history(connection, 20_000)
    connection.execute("INSERT INTO callboard.finished_counts VALUES ('dead', 5, 'quick', 'Boom')")
    plan = connection.execute(
        f"EXPLAIN (ANALYZE, COSTS off, TIMING off) {statement('metrics_dead_letters')}"
    ).fetchall()
    scans = [line for row in plan for line in row.values() if " on tasks " in line]
    assert scans
    assert all("never executed" in line for line in scans)


def test_the_history_is_not_read(connection: Observer, make_task: TaskBuilder) -> None:
    make_history(connection, 20_000)
    connection.execute(
        """INSERT INTO callboard.finished_counts (status, tasks)
           SELECT status, count(*) FROM callboard.tasks WHERE hidden_at IS NULL GROUP BY status"""
    )
    connection.execute("ANALYZE callboard.tasks")
    assert get_queue_status()["states"] == count(connection)
    plan = connection.execute(f"EXPLAIN (COSTS off) {statement('status_counts')}").fetchall()
    lines = [next(iter(row.values())) for row in plan]
    assert [line for line in lines if "Seq Scan on tasks" in line or "tasks_pkey" in line] == []
