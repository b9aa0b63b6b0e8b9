"""The pulse: the one statement of an idle worker."""

from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

from state import NewTask, submit, submit_many
from state.database import Connection
from state.database.statements import statement
from state.maintenance.maintainer import become_maintainer
from state.maintenance.sweep import read_last_seen
from state.tasks.queues import pause_queue, resume_queue
from state.workers.identity import Identity
from state.workers.leases import Claimed
from state.workers.pulse import Pulse, send_pulse
from state.workers.registry import mark_stopped, register
from tests.support.builders import TaskBuilder
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
QUEUES = ["one", "two"]


@pytest.fixture
def me() -> Identity:
    identity = Identity.of_this_process()
    register(identity, QUEUES, 8, ["quick", "slow"])
    return identity


@pytest.fixture
def beat(worker_connection: Connection, me: Identity) -> Callable[..., Pulse]:
    return lambda retry_limit=10: send_pulse(worker_connection, me.id, QUEUES, retry_limit)


def another(me: Identity, number: int, **changes: object) -> Identity:
    identity = replace(me, id=f"other{number}", pid=me.pid + number, **changes)  # type: ignore[arg-type]
    register(identity, QUEUES, 8, [])
    return identity


def test_it_says_whether_there_is_work(beat: Callable[..., Pulse], take: Take) -> None:
    assert not beat().has_work
    submit("quick", {}, delay_seconds=60)
    assert not beat().has_work
    submit("slow", {})
    assert beat().has_work
    pause_queue("two")
    assert not beat().has_work
    submit("quick", {})
    assert beat().has_work
    take(1, queues=["one"])
    assert not beat().has_work
    resume_queue("two")
    assert beat().has_work


def test_it_counts_the_retry_lane_as_far_as_it_matters(beat: Callable[..., Pulse], connection: Observer) -> None:
    submit_many([NewTask("quick", {}) for _ in range(3)] + [NewTask("slow", {}) for _ in range(4)])
    assert beat().retry_depth == 0
    connection.execute("UPDATE callboard.tasks SET lane = 'retry'")
    assert beat().retry_depth == 7
    assert beat(5).retry_depth == 5


def test_it_names_the_siblings_of_the_same_machine(beat: Callable[..., Pulse], me: Identity) -> None:
    assert beat().siblings == []
    beside = another(me, 1)
    gone = another(me, 2)
    for number, place in enumerate(({"host": "elsewhere"}, {"boot_id": "before"}, {"pid_namespace": "inside"}), 3):
        another(me, number, **place)
    mark_stopped([gone.id])
    [sibling] = beat().siblings
    assert (sibling.id, sibling.pid, sibling.start_ticks) == (beside.id, beside.pid, me.start_ticks)
    unknown = another(me, 6, start_ticks=None)
    assert {each.id: each.start_ticks for each in beat().siblings}[unknown.id] is None


def test_it_says_whether_there_is_a_maintainer(beat: Callable[..., Pulse], clock: Clock) -> None:
    assert beat().maintainer_vacant
    assert become_maintainer("other")
    assert not beat().maintainer_vacant
    clock.advance(4)
    assert beat().maintainer_vacant
    assert become_maintainer("other")
    clock.advance(-3600)  # its lease would end in an hour
    assert beat().maintainer_vacant


def test_a_worker_that_was_marked_as_stopped_is_back_with_its_next_pulse(
    beat: Callable[..., Pulse], me: Identity, connection: Observer
) -> None:
    mark_stopped([me.id])
    beat()
    [row] = connection.execute("SELECT stopped_at FROM callboard.workers").fetchall()
    assert row["stopped_at"] is None


def test_it_is_cheap_beside_many_tasks_with_old_statistics(
    beat: Callable[..., Pulse], me: Identity, connection: Observer
) -> None:
    """By the statistics everything is queued, and nothing is any more: with them the planner would read everything."""
    row = "'quick', 'one', 'primary', 'queued', 2, n, '{}'::jsonb, '{}'::jsonb, 3, now(), now(), now()"
    connection.execute(
        "INSERT INTO callboard.tasks (id, actor, queue, lane, status, priority, rank, payload, progress, max_attempts,"
        f" available_at, created_at, updated_at) SELECT 't' || n, {row} FROM generate_series(1, 30000) AS n"
    )
    connection.execute("ANALYZE callboard.tasks")
    assert pages(connection, me) < 100
    connection.execute("UPDATE callboard.tasks SET status = 'canceled', finished_at = now()")
    connection.execute("VACUUM (INDEX_CLEANUP ON) callboard.tasks")
    connection.execute("UPDATE pg_class SET reltuples = 30000, relallvisible = 0 WHERE relname = 'tasks'")
    assert not beat().has_work
    assert pages(connection, me) < 100


def pages(connection: Observer, me: Identity) -> int:
    """Returns how many pages Postgres reads for one pulse, once it has a plan for it."""
    parameters = {"worker": me.id, "queues": QUEUES, "retry_limit": 5001, "lease_seconds": 30, "maintainer_seconds": 3}
    parameters["stopping"] = False
    for _ in range(2):
        explained = connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement('pulse')}", parameters
        ).fetchone()
    assert explained is not None
    [plan] = explained["QUERY PLAN"]
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def test_it_renews_leases_while_the_workers_row_is_locked(
    worker_connection: Connection, make_task: TaskBuilder, database_url: str, clock: Clock
) -> None:
    register(me := Identity.of_this_process(), ["one"], 8, [])
    task = make_task("running", worker=me.id)
    worker_connection.execute("SET lock_timeout = '2s'")  # a wait would fail
    before = read_last_seen()[me.id]
    clock.advance(5)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM callboard.workers WHERE id = %s FOR UPDATE", [me.id])
        assert [lease.id for lease in send_pulse(worker_connection, me.id, ["one"], 1).leases] == [task.task_id]
    assert read_last_seen()[me.id] != before  # it counts as seen all the same
