"""A verb whose answer was lost with the connection is repeated, and returns what the first try would have returned."""

from collections.abc import Callable
from typing import Any

import pytest

import state
from state import IllegalTransition, TaskNotFound, get_events, get_task, submit
from state.database import Connection
from state.settings import get_settings
from state.tasks.targets import clear_job, resume_job
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM
from tests.support.clock import Clock
from tests.support.lostanswers import LostAnswers
from tests.support.observer import Observer

Running = Callable[..., Claimed]
Put = Callable[[str, str], None]
pytestmark = pytest.mark.usefixtures("simple_actors")

# verb: the statement whose answer is lost, the status before, the status after, the event that the verb writes
VERBS: dict[str, tuple[Callable[[str], Any], str, str, str, dict[str, str]]] = {
    "cancel": (state.cancel, "cancel", "queued", "canceled", {"to": "canceled"}),
    "pause": (state.pause, "pause", "waiting", "paused", {"to": "paused"}),
    "resume": (state.resume, "resume", "paused", "queued", {"reason": "resumed"}),
    "resume a dead one": (state.resume, "revive", "dead", "queued", {"reason": "resumed"}),
    "retry": (state.retry, "revive", "dead", "queued", {"reason": "retried"}),
    "retry with another payload": (
        lambda task_id: state.retry(task_id, {"size": 2}), "revive", "dead", "queued", {"reason": "retried"},
    ),
    "dismiss": (state.dismiss, "dismiss", "dead", "canceled", {"reason": "dismissed"}),
    "resume a target's job": (
        lambda task_id: resume_job("t", task_id), "resume", "paused", "queued", {"reason": "resumed"},
    ),
    "clear a target's job": (
        lambda task_id: clear_job("t", task_id), "cancel", "queued", "canceled", {"to": "canceled"},
    ),
    "clear a target's dead job": (
        lambda task_id: clear_job("t", task_id), "dismiss", "dead", "canceled", {"reason": "dismissed"},
    ),
}  # fmt: skip


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> LostAnswers:
    return LostAnswers(monkeypatch)


def written(task_id: str, sign: dict[str, str]) -> int:
    """Returns how many events of the verb are in the history."""
    return sum(sign.items() <= event.data.items() for event in get_events(task_id))


@pytest.mark.parametrize("done", [True, False], ids=["after the commit", "before it"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_answer_was_lost_has_happened_once(lost: LostAnswers, put: Put, verb: str, done: bool) -> None:
    act, statement, before, after, sign = VERBS[verb]
    task_id = submit("quick", {}, target="t").task_id
    put(task_id, before)
    lost.of_statement(statement, done=done)
    assert act(task_id).status == after
    assert lost.lost == 1
    assert written(task_id, sign) == 1


@pytest.mark.parametrize("verb", ["cancel", "pause"])
def test_a_request_to_a_running_task_whose_answer_was_lost_is_made_once(
    lost: LostAnswers, running: Running, verb: str
) -> None:
    task = running()
    lost.of_statement(verb)
    asked = getattr(state, verb)(task.id)
    assert (asked.status, asked.cancel_requested) == ("running", verb)
    assert written(task.id, {"stage": "requested", "request": verb}) == 1


@pytest.mark.parametrize(("verb", "after"), [("cancel", "canceled"), ("pause", "paused")])
def test_a_request_whose_answer_was_lost_may_have_been_fulfilled_meanwhile(
    lost: LostAnswers, running: Running, worker_connection: Connection, verb: str, after: str
) -> None:
    task = running()
    released = Settlement(task.id, task.epoch, "released")
    lost.of_statement(verb, then=lambda: leases.settle(worker_connection, "w1", [released]))
    assert getattr(state, verb)(task.id).status == after


def test_a_task_that_was_revived_and_died_again_meanwhile_is_not_revived_twice(
    lost: LostAnswers, dead: Running, take: Callable[..., list[Claimed]], worker_connection: Connection
) -> None:
    task = dead()

    def die_again() -> None:
        [claimed] = take()
        leases.settle(worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error=BOOM)])

    lost.of_statement("revive", then=die_again)
    assert state.retry(task.id).status == "dead"
    assert written(task.id, {"reason": "retried"}) == 1


def test_a_pause_over_the_token_limit_whose_answer_was_lost(
    lost: LostAnswers, running: Running, worker_connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = running()
    leases.report(worker_connection, "w1", [leases.Report(task.id, task.epoch, 1, tokens=500)])
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "released")])
    monkeypatch.setattr(get_settings(), "token_limit", 499)
    lost.of_statement("pause")
    ended = state.pause(task.id)
    assert (ended.status, (ended.error or {})["type"]) == ("dead", "TokenLimitExceeded")


def test_a_delete_whose_answer_was_lost(lost: LostAnswers, dead: Running, connection: Observer) -> None:
    task = dead()
    lost.of_statement("hide")
    state.delete(task.id)
    assert lost.lost == 1
    with pytest.raises(TaskNotFound):
        get_task(task.id)
    with pytest.raises(TaskNotFound):
        state.delete(task.id)


def test_a_redrive_whose_answer_was_lost_returns_how_many_it_moved(lost: LostAnswers, dead: Running) -> None:
    tasks = [dead() for _ in range(3)]
    held = dead(dedup_key="k")
    submit("quick", {}, dedup_key="k")
    lost.of_statement("revive")
    done = state.redrive(all=True)
    assert (lost.lost, done.tasks, done.skipped) == (1, 3, 1)
    assert [written(task.id, {"reason": "redriven"}) for task in [*tasks, held]] == [1, 1, 1, 0]


def test_a_cancel_whose_answer_was_lost_wakes_the_next_task_in_the_line(
    lost: LostAnswers, running: Running, worker_connection: Connection, take: Callable[..., list[Claimed]]
) -> None:
    first = submit("quick", {}, target="t").task_id
    second = submit("quick", {}, target="t").task_id
    assert [task.id for task in take(2)] == [first]
    assert get_task(second).status == "waiting"
    leases.settle(worker_connection, "w1", [Settlement(first, 1, "released")])
    lost.of_statement("cancel")
    assert state.cancel(first).status == "canceled"
    assert get_task(second).status == "queued"


@pytest.mark.parametrize(
    ("verb", "status"), [("cancel", "canceled"), ("pause", "paused"), ("retry", "queued"), ("dismiss", "canceled")]
)
def test_a_move_that_happened_before_the_call_is_refused(
    lost: LostAnswers, dead: Running, clock: Clock, verb: str, status: str
) -> None:
    """The connection is lost before the verb has done anything."""
    task = dead()
    if verb in ("retry", "dismiss"):
        getattr(state, verb)(task.id)
    else:
        state.resume(task.id)
        getattr(state, verb)(task.id)
    clock.advance(60)
    lost.of_statement("revive" if verb == "retry" else verb, done=False)
    with pytest.raises(IllegalTransition) as refused:
        getattr(state, verb)(task.id)
    assert (lost.lost, refused.value.status) == (1, status)
