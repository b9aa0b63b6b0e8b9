"""Sweeps: tasks that are due, lost or too old."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from state import get_events, get_task, submit
from state.gates.operations import put_gate
from state.maintenance.sweep import sweep
from state.workers.leases import Claimed
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


def test_scheduled_tasks_come_due(take: Take, clock: Clock) -> None:
    later = submit("quick", {}, delay_seconds=60).task_id
    at = submit("quick", {}, available_at=datetime.now(UTC) + timedelta(seconds=90)).task_id
    assert take(10) == []
    clock.advance(61)
    assert [row["id"] for row in sweep().due] == [later]
    clock.advance(30)
    assert [row["id"] for row in sweep().due] == [at]
    assert {task.id for task in take(10)} == {later, at}


def test_a_task_that_is_too_old_before_it_starts_is_dead_in_every_status(take: Take, clock: Clock) -> None:
    put_gate("tenant:t", max_concurrent=0)
    queued = submit("slow", {}, max_age_seconds=10).task_id
    waiting = submit("quick", {}, max_age_seconds=10, tenant="t").task_id
    scheduled = submit("quick", {}, max_age_seconds=10, delay_seconds=5).task_id
    kept = submit("quick", {}).task_id
    assert [task.id for task in take(10, queues=["one"])] == [kept]
    assert get_task(waiting).status == "waiting"
    clock.advance(11)
    assert {row["id"] for row in sweep().expired} == {queued, waiting}
    for task_id in (queued, waiting):
        task = get_task(task_id)
        assert (task.status, task.error["type"], task.attempt) == ("dead", "Expired", 0)  # type: ignore[index]
        assert get_events(task_id)[-1].data["to"] == "dead"
    clock.advance(5)  # its age counts from the moment when it could have started
    assert {row["id"] for row in sweep().expired} == {scheduled}


def ranks(connection: Observer) -> list[tuple[str | None, int]]:
    rows = connection.execute("SELECT tenant, rank FROM callboard.tasks WHERE status = 'queued' ORDER BY rank, id")
    return [(row["tenant"], row["rank"]) for row in rows]


def test_tasks_that_become_due_together_line_up_as_if_they_had_come_one_by_one(
    clock: Clock, connection: Observer, take: Take
) -> None:
    late = submit("quick", {}, tenant="many", delay_seconds=50).task_id
    many = [submit("quick", {}, tenant="many", delay_seconds=n).task_id for n in (10, 20, 30)]
    few = submit("quick", {}, tenant="few", delay_seconds=40).task_id
    clock.advance(60)
    assert len(sweep().due) == 5
    [(_, first), *_] = ranks(connection)
    assert ranks(connection) == [("many", first), ("few", first), *(("many", first + odd) for odd in (3, 5, 7))]
    assert [task.id for task in take(5)] == [many[0], few, *many[1:], late]


def test_tasks_of_a_lost_worker_line_up_behind_each_other(take: Take, connection: Observer) -> None:
    for tenant in ("many", "many", "many", "few"):
        submit("quick", {}, tenant=tenant)
    assert len(take(4)) == 4
    assert len(sweep(["w1"]).lost) == 4
    [(_, first), *_] = ranks(connection)
    assert sorted(ranks(connection)) == [("few", first), *(("many", first + odd) for odd in (0, 3, 5))]


def test_admin_views_answer(take: Take, connection: Observer) -> None:
    put_gate("tenant:t", max_concurrent=0)
    task_id = submit("quick", {}, tenant="t", target="x").task_id
    take(10)
    [why] = connection.execute("SELECT * FROM admin.why_waiting").fetchall()
    assert (why["id"], why["gate"], why["reason"], why["position"]) == (task_id, "tenant:t", "0 of 0 running", 1)
    views = connection.execute("SELECT viewname FROM pg_views WHERE schemaname = 'admin'").fetchall()
    assert len(views) >= 10
    for view in views:
        connection.execute(f"SELECT * FROM admin.{view['viewname']}")
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
