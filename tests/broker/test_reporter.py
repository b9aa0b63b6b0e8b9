"""Every report is in the history exactly once, whenever a connection is lost."""

import math
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.outcomes import completed
from broker.worker.reporter import Reporter
from state import get_events, get_task, submit
from state.database import Connection
from state.workers.leases import Claimed
from tests.support.eventually import eventually
from tests.support.observer import Observer

pytestmark = pytest.mark.usefixtures("simple_actors")


@pytest.fixture
def held() -> HeldTasks:
    return HeldTasks("w1", 1, lambda _execution: None)


@pytest.fixture
def execution(held: HeldTasks, take: Callable[..., list[Claimed]]) -> Execution:
    task_id = submit("quick", {}).task_id
    held.add(take(), 1, lease_until=math.inf)
    started = held.start(task_id, 1, time_limit=60)
    assert started is not None
    return started


@pytest.fixture
def reporter(held: HeldTasks) -> Reporter:
    return Reporter(held)


def said(execution: Execution) -> list[Any]:
    return [event.data["text"] for event in get_events(execution.claimed.id) if event.kind == "token"]


@pytest.mark.parametrize("committed", [True, False], ids=["after the commit", "before it"])
def test_a_connection_lost_in_a_report_neither_loses_nor_doubles_it(
    execution: Execution,
    held: HeldTasks,
    reporter: Reporter,
    worker_connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,
) -> None:
    real = Connection.fetch

    def lost(*arguments: Any, **options: Any) -> Any:
        if committed:
            real(*arguments, **options)
        raise psycopg.OperationalError("the connection is lost")

    execution.add_event("token", {"text": "one"})
    execution.add_usage(10, 0.5)
    with monkeypatch.context() as broken:
        broken.setattr(Connection, "fetch", lost)
        for _ in range(2):
            with pytest.raises(psycopg.OperationalError):
                reporter.write(worker_connection)
    assert not execution.wait_written(timeout=0)
    execution.add_event("token", {"text": "two"})
    execution.add_usage(1, 0.25)
    held.end(execution, completed(execution.claimed, None))
    reporter.write(worker_connection)
    assert execution.wait_written(timeout=0)
    assert said(execution) == ["one", "two"]
    task = get_task(execution.claimed.id)
    assert (task.status, task.usage) == ("completed", {"tokens": 11, "cost": 0.75})


def test_a_connection_lost_in_the_end_of_a_task_ends_it_once(
    execution: Execution,
    held: HeldTasks,
    reporter: Reporter,
    worker_connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    held.end(execution, completed(execution.claimed, {"answer": 42}))
    real = Connection.fetch

    def lost(*arguments: Any, **options: Any) -> Any:
        real(*arguments, **options)
        raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as broken:
        broken.setattr(Connection, "fetch", lost)
        with pytest.raises(psycopg.OperationalError):
            reporter.write(worker_connection)
    reporter.note_connection_lost()
    reporter.write(worker_connection)
    task = get_task(execution.claimed.id)
    assert (task.status, task.result, task.epoch) == ("completed", {"answer": 42}, 1)
    assert [event.data["to"] for event in get_events(task.task_id) if event.kind == "status"][-1] == "completed"
    assert task.last_event == 3
    assert "lease lost" not in "".join(capfd.readouterr())


@pytest.fixture
def others(held: HeldTasks, take: Callable[..., list[Claimed]], execution: Execution) -> list[Execution]:
    """Three more executions that run at the same time."""
    held.threads.limit = 4
    for _ in range(3):
        submit("quick", {})
    claimed = take(3)
    held.add(claimed, 2, lease_until=math.inf)
    started = [held.start(each.id, each.epoch, time_limit=60) for each in claimed]
    return [each for each in started if each is not None]


@pytest.fixture
def broken(connection: Observer, execution: Execution) -> Callable[[str], None]:
    """Lets a statement fail for one task with an unexpected error."""

    def break_table(table: str) -> None:
        connection.execute(
            "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'nobody expects this'; END $$"
        )
        connection.execute(
            f"CREATE TRIGGER fail BEFORE INSERT ON callboard.{table} FOR EACH ROW "
            f"WHEN (NEW.task_id = '{execution.claimed.id}') EXECUTE FUNCTION public.fail()"
        )

    return break_table


@pytest.mark.parametrize("table", ["events", "attempts"])
def test_an_unexpected_error_of_one_task_does_not_stop_others_and_drops_nothing(
    table: str,
    execution: Execution,
    others: list[Execution],
    held: HeldTasks,
    reporter: Reporter,
    worker_connection: Connection,
    broken: Callable[[str], None],
    connection: Observer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.worker.reporter._AFTER_BUG", 0.0)
    broken(table)
    everybody = [execution, *others]
    for each in everybody:
        each.add_event("token", {"text": "said"})
        each.add_usage(1, 0)
        held.end(each, completed(each.claimed, "done"))
    for _ in range(3):
        reporter.write(worker_connection)
    assert [get_task(each.claimed.id).status for each in others] == ["completed"] * 3
    assert get_task(execution.claimed.id).status == "running"
    connection.execute(f"DROP TRIGGER fail ON callboard.{table}")
    reporter.write(worker_connection)
    for each in everybody:
        task = get_task(each.claimed.id)
        assert (task.status, task.result, task.usage["tokens"]) == ("completed", "done", 1)
        assert said(each) == ["said"]
    assert held.is_idle()


def test_a_result_that_cannot_be_stored_ends_its_task_alone(
    execution: Execution, others: list[Execution], held: HeldTasks, reporter: Reporter, worker_connection: Connection
) -> None:
    held.end(execution, completed(execution.claimed, 10**200_000))  # more digits than a jsonb number has
    for each in others:
        held.end(each, completed(each.claimed, None))
    reporter.write(worker_connection)
    assert [get_task(each.claimed.id).status for each in others] == ["completed"] * 3
    task = get_task(execution.claimed.id)
    assert (task.status, (task.error or {})["type"]) == ("dead", "ResultNotJson")


def test_a_locked_task_does_not_delay_others(
    execution: Execution,
    others: list[Execution],
    held: HeldTasks,
    reporter: Reporter,
    worker_connection: Connection,
    database_url: str,
) -> None:
    worker_connection.execute("SET lock_timeout = '5s'")  # a wait would fail
    for each in (execution, *others):
        each.add_event("token", {"text": "one"})
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [execution.claimed.id])
        reporter.write(worker_connection)
        for each in (execution, *others):
            each.add_event("token", {"text": "two"})
            each.set_progress({"percent": 50, "message": "half", "elapsed_ms": 1})
            each.add_usage(3, 0)
            held.end(each, completed(each.claimed, "done"))
        for _ in range(3):
            reporter.write(worker_connection)
        assert [get_task(each.claimed.id).status for each in others] == ["completed"] * 3
        assert get_task(execution.claimed.id).status == "running"
    eventually(lambda: reporter.write(worker_connection) or get_task(execution.claimed.id).finished)
    for each in (execution, *others):
        task = get_task(each.claimed.id)
        assert (task.status, task.result, task.usage["tokens"]) == ("completed", "done", 3)
        assert said(each) == ["one", "two"]
    assert held.is_idle()
