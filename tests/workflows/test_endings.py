"""Whatever ends a task, or revives it, advances its workflow in the same transaction."""

from collections.abc import Callable

import pytest

from state import cancel, dismiss, dismiss_many, pause, redrive, resume, retry
from state.database import transaction
from state.maintenance.losses import recover, set_on_loss, sweep_silent
from state.maintenance.silence import LastSeen
from state.maintenance.sweep import sweep_expired, sweep_unknown
from state.settings import get_settings
from state.workers import leases
from state.workflows import StoredWorkflow, get_workflow
from tests.support.claims import BOOM
from tests.support.clock import Clock
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]

PAIR = ({"key": "a", "max_attempts": 1}, {"key": "b", "after": ["a"]})


@pytest.fixture
def pair(create: Create) -> StoredWorkflow:
    """Two steps, one after the other."""
    return create(*PAIR)


def task_of(workflow: StoredWorkflow, key: str = "a") -> str:
    task_id = get_workflow(workflow.workflow_id).get_step(key).task_id
    assert task_id is not None
    return task_id


def shape(workflow: StoredWorkflow) -> tuple[str, dict[str, str]]:
    now = get_workflow(workflow.workflow_id)
    return now.status, {step.key: step.status for step in now.steps}


FAILED = ("failed", {"a": "dead", "b": "pending"})
CANCELED = ("canceled", {"a": "canceled", "b": "pending"})
ADVANCED = ("running", {"a": "completed", "b": "running"})


def test_a_settlement_in_the_transaction_of_an_actor(pair: StoredWorkflow, hand: HandWorker) -> None:
    """As ctx.transaction() does it."""
    hand.take()
    with transaction() as conn:
        leases.settle(conn, hand.name, [hand.make_end("a")])
        assert shape(pair) == ("running", {"a": "running", "b": "pending"}), "not before the commit"
    assert shape(pair) == ADVANCED


def test_a_batch_with_steps_of_several_workflows(create: Create, hand: HandWorker) -> None:
    workflows = [create({"key": f"a{n}"}, {"key": f"b{n}", "after": [f"a{n}"]}) for n in range(5)]
    hand.take()
    ends = [hand.make_end(f"a{n}", dies=n == 2) for n in range(5)]
    settled, busy = leases.try_settle(hand.connection, hand.name, ends)
    assert (len(settled), busy) == (5, set())
    assert [shape(each)[0] for each in workflows] == ["running", "running", "failed", "running", "running"]
    assert hand.take() == ["b0", "b1", "b3", "b4"]


def test_a_worker_that_is_lost(pair: StoredWorkflow, hand: HandWorker) -> None:
    hand.take()
    recover([hand.name])
    assert shape(pair) == FAILED


def test_a_worker_that_is_silent(pair: StoredWorkflow, hand: HandWorker, clock: Clock) -> None:
    hand.take()
    clock.advance(3600)
    row = hand.connection.execute("SELECT renewed_at FROM callboard.leases").fetchone()
    assert row is not None
    sweep_silent({hand.name: LastSeen(None, row["renewed_at"])})
    assert shape(pair) == FAILED


def test_a_lost_worker_costs_an_attempt_and_no_more(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a", "max_attempts": 2}, {"key": "b", "after": ["a"]})
    hand.take()
    recover([hand.name])
    assert shape(workflow) == ("running", {"a": "running", "b": "pending"})
    hand.run("a")
    assert shape(workflow) == ADVANCED


@pytest.mark.parametrize(("outcome", "expected"), [("completed", ADVANCED), ("failed", FAILED)])
def test_an_end_that_a_lost_worker_has_left(
    pair: StoredWorkflow, hand: HandWorker, outcome: str, expected: object
) -> None:
    hand.take()
    end = leases.as_json(hand.make_end("a", dies=outcome == "failed"))
    set_on_loss(hand.connection, hand.name, {(end["id"], end["epoch"]): {"report": None, "settlement": end}})
    recover([hand.name])
    assert shape(pair) == expected


def test_a_task_that_grows_too_old(pair: StoredWorkflow, connection: Observer) -> None:
    connection.execute("UPDATE callboard.tasks SET expires_at = callboard.now() WHERE id = %s", [task_of(pair)])
    sweep_expired()
    assert shape(pair) == FAILED


def test_a_task_whose_actor_no_worker_knows(pair: StoredWorkflow, connection: Observer) -> None:
    waits = "status = 'waiting', waiting_gate = 'actor:agent', updated_at = callboard.now() - interval '1 day'"
    connection.execute(f"UPDATE callboard.tasks SET {waits} WHERE id = %s", [task_of(pair)])
    assert len(sweep_unknown()) == 1
    assert shape(pair) == FAILED


def test_a_task_that_is_canceled(pair: StoredWorkflow) -> None:
    cancel(task_of(pair))
    assert shape(pair) == CANCELED


def test_a_running_task_that_is_canceled(pair: StoredWorkflow, hand: HandWorker) -> None:
    hand.take()
    cancel(task_of(pair))
    assert shape(pair) == ("running", {"a": "running", "b": "pending"})
    hand.die("a")
    assert shape(pair) == CANCELED


def test_a_spent_task_that_is_paused(
    pair: StoredWorkflow, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLBOARD_TOKEN_LIMIT", "100")
    get_settings.cache_clear()
    connection.execute("UPDATE callboard.tasks SET tokens = 101 WHERE id = %s", [task_of(pair)])
    assert pause(task_of(pair)).status == "dead"
    assert shape(pair) == FAILED


def test_a_dead_task_that_is_dismissed(create: Create, hand: HandWorker) -> None:
    workflow = create(*PAIR, {"key": "c"}, failure_threshold=2)
    hand.take()
    hand.die("a")
    dismiss(task_of(workflow))
    assert shape(workflow) == ("running", {"a": "canceled", "b": "pending", "c": "running"})
    hand.complete("c")
    ended = get_workflow(workflow.workflow_id)
    assert (ended.status, ended.reason) == ("completed", "canceled: a; could not run: b")


@pytest.mark.parametrize("verb", [retry, resume, lambda _: redrive(error_type="Boom")])
def test_a_dead_task_that_is_revived(pair: StoredWorkflow, hand: HandWorker, verb: Callable[[str], object]) -> None:
    hand.take()
    hand.die("a")
    verb(task_of(pair))
    assert shape(pair) == ("failed", {"a": "running", "b": "pending"}), "it goes on when a person says so"
    hand.run("a")
    assert shape(pair) == ("failed", {"a": "completed", "b": "pending"})


def test_dead_tasks_that_are_dismissed_by_a_filter(create: Create, hand: HandWorker) -> None:
    workflows = [create({"key": f"a{n}"}, {"key": f"b{n}"}, failure_threshold=2) for n in range(3)]
    hand.take()
    for n in range(3):
        hand.die(f"a{n}")
    assert dismiss_many(all=True).tasks == 3
    for n in range(3):
        hand.complete(f"b{n}")
    assert [get_workflow(each.workflow_id).status for each in workflows] == ["completed"] * 3


def test_an_operator_with_psql(pair: StoredWorkflow, connection: Observer) -> None:
    connection.execute("UPDATE callboard.tasks SET status = 'canceled' WHERE id = %s", [task_of(pair)])
    assert shape(pair) == CANCELED


def test_a_retry_that_is_scheduled_is_alive(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"})
    hand.take()
    end = hand.make_end("a", dies=True)
    end.retry_seconds = 60
    leases.settle(hand.connection, hand.name, [end])
    assert shape(workflow) == ("running", {"a": "running"})
    retry(task_of(workflow))
    hand.run("a")
    assert shape(workflow) == ("completed", {"a": "completed"})


def test_the_error_of_a_dead_task_is_that_of_its_step(pair: StoredWorkflow, hand: HandWorker) -> None:
    hand.take()
    hand.die("a")
    error = get_workflow(pair.workflow_id).get_step("a").error
    assert error is not None
    assert {**error, "task_id": "-"} == {**{name: BOOM[name] for name in BOOM if name != "traceback"}, "task_id": "-"}
    retry(task_of(pair))
    assert get_workflow(pair.workflow_id).get_step("a").error is None
