"""Dead letters: lists, revivals, edited payloads and dismissals, of one task and of thousands."""

import threading
from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

import state
from broker.execution import outcomes
from state import (
    EmptyFilter,
    IllegalTransition,
    NewTask,
    get_attempts,
    get_events,
    get_task,
    submit,
    submit_many,
)
from state.database import Connection
from state.errors import InvalidPayload
from state.maintenance import orphans
from state.maintenance.silence import Silence
from state.maintenance.sweep import sweep
from state.tasks import deadletters
from state.tasks.catalog import STANDARD_POLICY
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM
from tests.support.clock import Clock
from tests.support.observer import Observer

Dead = Callable[..., Claimed]
Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("simple_actors")


def test_a_revived_task_gets_fresh_attempts_and_its_history_goes_on(
    dead: Dead, take: Take, worker_connection: Connection
) -> None:
    task = dead(max_attempts=2)
    claims_before = get_task(task.id)
    assert (claims_before.status, claims_before.attempt) == ("dead", 1)
    for round_ in (1, 2):
        revived = state.retry(task.id)
        assert (revived.status, revived.lane, revived.finished_at) == ("queued", "retry", None)
        assert revived.max_attempts == revived.attempt + 2  # as many as at first, each time
        for _ in range(2):
            [claimed] = take()
            retry = Settlement(claimed.id, claimed.epoch, "failed", error=BOOM, retry_seconds=0)
            leases.settle(worker_connection, "w1", [retry])
            sweep()
        after = get_task(task.id)
        assert (after.status, after.attempt, after.epoch) == ("dead", 1 + 2 * round_, 1 + 2 * round_)
    assert len(get_attempts(task.id)) == len(after.error_history) == 5
    events = get_events(task.id)
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert [e.data["reason"] for e in events if e.data.get("from") == "dead"] == ["retried", "retried"]


def test_a_revived_task_begins_its_schedule_anew(dead: Dead, take: Take, worker_connection: Connection) -> None:
    first, second = STANDARD_POLICY.schedules["NetworkTimeout"][:2]
    task = dead(max_attempts=2)
    for _ in range(2):
        state.retry(task.id)
        for delay in (first, second):
            [claimed] = take()
            failed = outcomes.failed(claimed, TimeoutError("no answer"))
            assert failed.retry_seconds is not None
            assert delay <= failed.retry_seconds <= delay * 1.1
            leases.settle(worker_connection, "w1", [replace(failed, retry_seconds=0.0)])
            sweep()
        assert get_task(task.id).status == "dead"


def test_a_revived_task_gets_its_full_age_again(take: Take, clock: Clock, worker_connection: Connection) -> None:
    task_id = submit("quick", {}, max_age_seconds=60, delay_seconds=100).task_id
    clock.advance(100)
    sweep()
    clock.advance(61)
    assert [row["id"] for row in sweep().expired] == [task_id]
    state.retry(task_id)
    clock.advance(59)
    assert not sweep().expired
    clock.advance(2)
    assert [row["id"] for row in sweep().expired] == [task_id]


def test_a_scheduled_retry_runs_now_but_a_delayed_first_start_does_not(
    running: Dead, worker_connection: Connection, take: Take
) -> None:
    task = running()
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "failed", error=BOOM, retry_seconds=600)])
    now = state.retry(task.id)
    assert (now.status, now.lane, now.max_attempts) == ("queued", "retry", 3)
    assert [each.id for each in take()] == [task.id]
    later = submit("quick", {}, delay_seconds=600).task_id
    with pytest.raises(IllegalTransition):
        state.retry(later)


def test_an_edited_payload_is_checked_and_the_original_kept(dead: Dead, take: Take) -> None:
    task = dead(payload={"size": 3, "note": "old"})
    with pytest.raises(InvalidPayload) as refused:
        state.retry(task.id, {"size": "huge"})
    assert refused.value.field == "payload.size"
    assert get_task(task.id).status == "dead"
    revived = state.retry(task.id, {"size": "4"})
    assert revived.payload == {"size": 4}
    [change] = [event for event in get_events(task.id) if event.kind == "payload"]
    assert change.data == {"before": {"size": 3, "note": "old"}, "after": {"size": 4}, "checkpoint": {}}
    assert take()[0].payload == {"size": 4}


def test_a_checkpoint_of_another_payload_is_dropped(running: Dead, worker_connection: Connection, take: Take) -> None:
    task = running()
    leases.save("w1", task.id, task.epoch, {"job": "j1"})
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "failed", error=BOOM)])
    state.retry(task.id)
    assert take()[0].checkpoint == {"job": "j1"}  # as it is: never paid twice
    leases.settle(worker_connection, "w1", [Settlement(task.id, 2, "failed", error=BOOM)])
    state.retry(task.id, {"size": 2})
    assert take()[0].checkpoint == {}
    assert [e.data["checkpoint"] for e in get_events(task.id) if e.kind == "payload"] == [{"job": "j1"}]


def test_dismiss(dead: Dead) -> None:
    task = dead()
    assert state.dismiss(task.id).status == "canceled"
    assert get_task(task.id).error is not None
    with pytest.raises(IllegalTransition):
        state.retry(task.id)


def test_the_list_and_its_filters(dead: Dead, clock: Clock) -> None:
    old = [dead("Boom").id, dead("Bang").id]
    clock.advance(100)
    new = dead("Boom", tenant="acme").id

    def ids(**filters: object) -> list[str]:
        return [task.task_id for task in state.list_dead_letters(**filters)]  # type: ignore[arg-type]

    assert ids() == [new, *reversed(old)]
    assert ids(error_type="Bang") == [old[1]]
    assert ids(older_than=50) == list(reversed(old))
    assert ids(tenant="acme") == [new]
    assert ids(actor="slow") == []
    assert ids(limit=1) == [new]
    assert ids(before=new, limit=1) == [old[1]]
    assert state.list_dead_letters(limit=1)[0].error_history[0]["type"] == "Boom"


@pytest.mark.parametrize("verb", [state.redrive, state.dismiss_many])
def test_an_empty_filter_is_refused(dead: Dead, verb: Callable[..., object]) -> None:
    task = dead(tenant="acme")
    for harmless in ({}, {"tenant": "acme"}, {"dry_run": True}):
        with pytest.raises(EmptyFilter):
            verb(**harmless)
    assert get_task(task.id).status == "dead"


@pytest.mark.parametrize(("verb", "after"), [(state.redrive, "queued"), (state.dismiss_many, "canceled")])
def test_many_by_filter(dead: Dead, clock: Clock, verb: Callable[..., deadletters.Bulk], after: str) -> None:
    old = [dead("Boom").id, dead("Bang").id, dead("Boom", tenant="acme").id]
    clock.advance(100)
    new = dead("Boom").id
    wanted = {"error_type": "Boom", "older_than": 50}
    dry = verb(**wanted, dry_run=True)
    assert (dry.tasks, dry.dry_run) == (2, True)
    assert dry.groups == [{"actor": "quick", "error_type": "Boom", "tasks": 2}]
    assert {get_task(each).status for each in [*old, new]} == {"dead"}
    assert verb(**wanted, tenant="acme").tasks == 1
    assert verb(**wanted).tasks == 1
    assert [get_task(each).status for each in [*old, new]] == [after, "dead", after, "dead"]
    assert verb(all=True).tasks == 2
    assert verb(all=True).tasks == 0


def test_thousands_in_bounded_batches_past_a_locked_one(
    connection: Observer, monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setattr(deadletters, "BATCH", 100)
    ids = submit_many([NewTask("quick", {}) for _ in range(1050)])
    connection.execute(
        "UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now(), error = '{\"type\": \"Boom\"}'"
    )
    with psycopg.connect(database_url) as other:
        other.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [ids[5]])
        assert state.redrive(actor="quick").tasks == 1049
    counts = "SELECT status, lane, count(*) AS n FROM callboard.tasks GROUP BY 1, 2 ORDER BY 1"
    assert connection.execute(counts).fetchall() == [
        {"status": "dead", "lane": "primary", "n": 1},
        {"status": "queued", "lane": "retry", "n": 1049},
    ]
    assert connection.execute("SELECT count(*) AS n FROM callboard.events").fetchone() == {"n": 1050 + 1049}


def test_two_redrives_at_once_move_each_task_once(connection: Observer) -> None:
    submit_many([NewTask("quick", {}) for _ in range(600)])
    connection.execute("UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now()")
    moved: list[int] = []
    threads = [threading.Thread(target=lambda: moved.append(state.redrive(all=True).tasks)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(moved) == 600


def test_the_view_for_people_with_psql(dead: Dead, connection: Observer) -> None:
    task = dead("Boom", payload={"agent_name": "text", "task_type": "statistics", "input": {}})
    row = connection.execute("SELECT * FROM admin.dead_letters").fetchone()
    assert row is not None
    assert (row["task_id"], row["actor"], row["agent_name"], row["task_type"]) == (
        task.id,
        "quick",
        "text",
        "statistics",
    )
    assert (row["error_type"], row["error_message"], row["attempts"]) == ("Boom", "no luck", 1)
    assert row["payload"]["input"] == {}


def test_orphans_are_requeued_on_request(running: Dead, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    own_clock = [0.0]
    monkeypatch.setattr(orphans, "_silence", Silence(30, lambda: own_clock[0]))
    lost, fresh = running(), None
    assert state.requeue_orphaned().lost == []
    clock.advance(31)
    assert state.requeue_orphaned().lost == []  # on the database's clock alone
    own_clock[0] += 31
    fresh = submit("quick", {}, delay_seconds=5).task_id
    clock.advance(6)
    found = state.requeue_orphaned()
    assert [(row["id"], row["status"]) for row in found.lost] == [(lost.id, "queued")]
    assert [row["id"] for row in found.due] == [fresh]
