"""Pause, resume, cancel, retry, dismiss and delete in every status: moves and refusals."""

from collections.abc import Callable

import pytest

import state
from state import IllegalTransition, TaskNotFound, get_attempts, get_events, get_task, submit
from state.database import Connection
from state.maintenance.sweep import sweep
from state.settings import get_settings
from state.transitions import STATUSES
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from state.workers.pulse import send_pulse
from tests.support.claims import BOOM, Claimer
from tests.support.clock import Clock
from tests.support.observer import Observer

Running = Callable[..., Claimed]
pytestmark = pytest.mark.usefixtures("simple_actors")

# verb → status → status after it; a status that is not named refuses the verb.
VERBS: dict[str, tuple[Callable[[str], object], dict[str, str]]] = {
    "pause": (state.pause, {"scheduled": "paused", "queued": "paused", "waiting": "paused", "running": "running"}),
    "cancel": (
        state.cancel,
        {**dict.fromkeys(["scheduled", "queued", "waiting", "paused"], "canceled"), "running": "running"},
    ),
    "resume": (state.resume, {"paused": "queued", "dead": "queued"}),
    "retry": (state.retry, {"dead": "queued"}),
    "dismiss": (state.dismiss, {"dead": "canceled"}),
    "delete": (state.delete, {"completed": "completed", "canceled": "canceled", "dead": "dead"}),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_in_every_status(verb: str, put: Callable[[str, str], None], status: Callable[[str], str]) -> None:
    act, allowed = VERBS[verb]
    for before in STATUSES:
        task_id = submit("quick", {}).task_id
        put(task_id, before)
        lines = len(get_events(task_id))
        if before in allowed:
            act(task_id)
            assert status(task_id) == allowed[before]
        else:
            with pytest.raises(IllegalTransition) as refused:
                act(task_id)
            assert (refused.value.status, refused.value.verb) == (before, verb)
            assert status(task_id) == before
            assert len(get_events(task_id)) == lines
    with pytest.raises(TaskNotFound):
        act("tq_" + "0" * 32)


def test_a_paused_task_keeps_its_checkpoint_lane_and_attempt(
    running: Running, worker_connection: Connection, take: Claimer
) -> None:
    task = running()
    leases.save("w1", task.id, task.epoch, {"page": 7})
    assert state.pause(task.id).cancel_requested == "pause"
    assert send_pulse(worker_connection, "w1", ["one", "two"], 1).leases[0].cancel_requested == "pause"
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "released")])
    paused = get_task(task.id)
    assert (paused.status, paused.attempt, paused.cancel_requested) == ("paused", 0, None)
    assert get_attempts(task.id)[0]["outcome"] == "paused"
    resumed = state.resume(task.id)
    assert (resumed.status, resumed.lane) == ("queued", "primary")
    [again] = take()
    assert (again.checkpoint, again.attempt, again.epoch) == ({"page": 7}, 1, 2)


def test_the_same_request_twice_is_one_request(running: Running) -> None:
    task = running()
    state.pause(task.id)
    state.pause(task.id)
    assert [e.data for e in get_events(task.id) if e.kind == "control"] == [{"stage": "requested", "request": "pause"}]


def test_a_cancel_replaces_a_pause_but_a_pause_does_not_replace_a_cancel(running: Running) -> None:
    task = running()
    state.pause(task.id)
    assert state.cancel(task.id).cancel_requested == "cancel"
    with pytest.raises(IllegalTransition):
        state.pause(task.id)
    assert get_task(task.id).cancel_requested == "cancel"


def test_a_stale_request_does_not_stop_a_later_execution(
    running: Running, worker_connection: Connection, take: Claimer, clock: Clock, connection: Observer
) -> None:
    task = running()
    state.pause(task.id)
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "released")])
    # As an operator's hand, or a bug, might leave it behind.
    connection.execute("UPDATE callboard.tasks SET cancel_requested = 'cancel' WHERE id = %s", [task.id])
    state.resume(task.id)
    take()
    assert get_task(task.id).cancel_requested is None
    assert send_pulse(worker_connection, "w1", ["one", "two"], 1).leases[0].cancel_requested is None


@pytest.mark.parametrize(("request_", "after"), [("pause", "paused"), ("cancel", "canceled")])
def test_a_request_outlives_its_worker(running: Running, request_: str, after: str) -> None:
    task = running()
    getattr(state, request_)(task.id)
    assert [row["status"] for row in sweep(["w1"]).lost] == [after]


def test_a_failure_for_good_is_not_undone_by_a_pause(running: Running, worker_connection: Connection) -> None:
    task = running()
    state.pause(task.id)
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "failed", error=BOOM)])
    assert get_task(task.id).status == "dead"
    other = running()
    state.pause(other.id)
    leases.settle(worker_connection, "w1", [Settlement(other.id, other.epoch, "failed", error=BOOM, retry_seconds=5)])
    assert (get_task(other.id).status, get_task(other.id).attempt) == ("paused", 1)


def test_the_age_of_a_paused_task_does_not_grow(clock: Clock, take: Claimer) -> None:
    task_id = submit("quick", {}, max_age_seconds=60).task_id
    clock.advance(50)
    state.pause(task_id)
    clock.advance(3600)
    state.resume(task_id)
    assert not sweep().expired
    clock.advance(11)
    assert [row["id"] for row in sweep().expired] == [task_id]


def test_pausing_over_the_token_limit_ends_it(
    running: Running, worker_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = running()
    leases.report(worker_connection, "w1", [leases.Report(task.id, task.epoch, 1, tokens=500)])
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "released")])
    monkeypatch.setenv("CALLBOARD_TOKEN_LIMIT", "499")
    get_settings.cache_clear()
    ended = state.pause(task.id)
    assert ended.status == "dead"
    assert ended.error is not None
    assert (ended.error["type"], ended.error["details"]) == ("TokenLimitExceeded", {"tokens": 500, "limit": 499})
    monkeypatch.delenv("CALLBOARD_TOKEN_LIMIT")
    get_settings.cache_clear()


def test_delete_hides_a_task_and_keeps_its_row(
    running: Running, worker_connection: Connection, connection: Observer
) -> None:
    task = running()
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "completed", result=1)])
    state.delete(task.id)
    with pytest.raises(TaskNotFound):
        get_task(task.id)
    with pytest.raises(TaskNotFound):
        state.delete(task.id)
    assert task.id not in [each.task_id for each in state.list_tasks()]
    assert connection.execute("SELECT count(*) AS n FROM callboard.events").fetchone() == {"n": 3}


def test_a_hidden_dead_letter_cannot_be_revived(dead: Running) -> None:
    task = dead()
    state.delete(task.id)
    for verb in (state.retry, state.resume, state.dismiss):
        with pytest.raises(TaskNotFound):
            verb(task.id)
    assert state.redrive(all=True).tasks == 0


EXITS: dict[str, Callable[[str], object]] = {"cancel": state.cancel, "pause": state.pause}


@pytest.mark.parametrize("verb", EXITS)
@pytest.mark.parametrize("before", ["queued", "waiting"])
def test_a_task_that_leaves_its_line_leaves_nothing_there(
    put: Callable[[str, str], None], connection: Observer, verb: str, before: str
) -> None:
    task_id = submit("quick", {}, tenant="acme").task_id
    put(task_id, before)
    connection.execute(
        "UPDATE callboard.tasks "
        "SET waiting_gate = 'g', waiting_reason = 'r', woken_for = 'g', woken_at = callboard.now()"
    )
    EXITS[verb](task_id)
    columns = "waiting_gate, waiting_reason, woken_for, woken_at"
    [row] = connection.execute(f"SELECT {columns} FROM callboard.tasks WHERE id = %s", [task_id]).fetchall()
    assert set(row.values()) == {None}


def test_an_expired_task_leaves_nothing_at_its_gate(clock: Clock, connection: Observer) -> None:
    submit("quick", {}, max_age_seconds=10)
    connection.execute("UPDATE callboard.tasks SET woken_for = 'g', woken_at = callboard.now()")
    clock.advance(11)
    assert len(sweep().expired) == 1
    row = connection.execute("SELECT woken_for, woken_at FROM callboard.tasks").fetchone()
    assert row == {"woken_for": None, "woken_at": None}
