"""Two things at once, on real locks: each step starts once, nothing waits that need not, nothing deadlocks."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from state import cancel, submit
from state.database import Connection, connect
from state.errors import IllegalStep, IllegalWorkflow, WorkflowNotRunning
from state.workers import leases
from state.workflows import StoredWorkflow, approve, cancel_workflow, get_workflow
from state.workflows.sweep import WorkflowSweep
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]

JOIN = ({"key": "b"}, {"key": "c"}, {"key": "d", "after": ["b", "c"]})


@pytest.fixture
def second(database_url: str) -> Iterator[Connection]:
    with connect("second") as connection:
        yield connection


@pytest.fixture
def beside() -> Iterator[Callable[..., "Future[object]"]]:
    """Runs something in another thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


@pytest.fixture(autouse=True)
def no_deadlocks(connection: Observer) -> Iterator[None]:
    yield
    connection.execute("SELECT pg_stat_clear_snapshot()")
    row = connection.fetch_one("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    assert row["deadlocks"] == 0


def wait_for_waiter(connection: Observer) -> None:
    """Until a session waits for a lock."""
    query = (
        "SELECT count(*) AS n FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE 'callboard%'"
    )
    eventually(lambda: connection.fetch_one(query)["n"] > 0, what="a session that waits for a lock")


def count_tasks(connection: Observer, step: str) -> int:
    return int(connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE step = %s", [step])["n"])


@pytest.mark.parametrize("order", [("b", "c"), ("c", "b")])
def test_two_steps_that_end_at_the_same_moment_start_the_join_once(
    create: Create, hand: HandWorker, second: Connection, connection: Observer,
    beside: Callable[..., "Future[object]"], order: tuple[str, str],
) -> None:  # fmt: skip
    """The second one waits for the first one's commit, and sees what it has written."""
    its_id = create(*JOIN).workflow_id
    hand.take()
    first, then = (hand.make_end(step) for step in order)
    with hand.connection.transaction():
        leases.settle(hand.connection, hand.name, [first])
        waiting = beside(leases.settle, second, hand.name, [then])
        wait_for_waiter(connection)
    waiting.result(30)
    assert count_tasks(connection, "d") == 1
    hand.run("d")
    assert get_workflow(its_id).status == "completed"


def test_a_batch_does_not_wait_for_a_workflow_that_is_locked(
    create: Create, hand: HandWorker, second: Connection, connection: Observer
) -> None:
    locked, free = (
        create({"key": "a"}, {"key": "b", "after": ["a"]}),
        create({"key": "x"}, {"key": "y", "after": ["x"]}),
    )
    hand.take()
    ends = [hand.make_end("a"), hand.make_end("x")]
    with second.transaction():
        second.execute("SELECT FROM callboard.workflows WHERE id = %s FOR UPDATE", [locked.workflow_id])
        settled, busy = leases.try_settle(hand.connection, hand.name, ends)
        assert [row["id"] for row in settled] == [ends[1].id]
        assert busy == {(ends[0].id, ends[0].epoch)}
        assert WorkflowSweep().take_turn() == [], "nor does the sweep"
    assert get_workflow(free.workflow_id).get_step("y").status == "running"
    settled, busy = leases.try_settle(hand.connection, hand.name, ends[:1])
    assert (len(settled), busy) == (1, set())
    assert get_workflow(locked.workflow_id).get_step("b").status == "running"


def test_a_session_that_dies_before_its_commit_has_done_nothing(
    create: Create, hand: HandWorker, connection: Observer
) -> None:
    its_id = create({"key": "a"}, {"key": "b", "after": ["a"]}).workflow_id
    hand.take()
    end = hand.make_end("a")
    doomed = connect("doomed")
    doomed.execute("BEGIN")
    assert leases.settle(doomed, hand.name, [end])
    pid = doomed.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    query = "SELECT count(*) AS n FROM pg_stat_activity WHERE pid = %s"
    eventually(lambda: connection.fetch_one(query, [pid])["n"] == 0, what="the session is gone")
    doomed.close()
    assert get_workflow(its_id).get_step("b").status == "pending"
    assert leases.settle(hand.connection, hand.name, [end])
    assert count_tasks(connection, "b") == 1


def test_a_join_waits_for_the_end_of_the_last_task_and_is_refused(
    create: Create, hand: HandWorker, connection: Observer, beside: Callable[..., "Future[object]"]
) -> None:
    its_id = create({"key": "a"}).workflow_id
    hand.take()
    with hand.connection.transaction():
        leases.settle(hand.connection, hand.name, [hand.make_end("a")])
        waiting = beside(submit, "agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id)
        wait_for_waiter(connection)
    with pytest.raises(WorkflowNotRunning):
        waiting.result(30)


def test_an_end_waits_for_a_task_that_joins_and_does_not_complete_the_workflow(
    create: Create, hand: HandWorker, second: Connection, connection: Observer, beside: Callable[..., "Future[object]"]
) -> None:
    its_id = create({"key": "a"}).workflow_id
    hand.take()
    with second.transaction():
        submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, conn=second)
        waiting = beside(leases.settle, hand.connection, hand.name, [hand.make_end("a")])
        wait_for_waiter(connection)
    waiting.result(30)
    assert get_workflow(its_id).status == "running"


def test_a_cancel_waits_for_an_end_that_is_under_way(
    create: Create, hand: HandWorker, connection: Observer, beside: Callable[..., "Future[object]"]
) -> None:
    """The end starts the next step; the cancel sees it."""
    its_id = create({"key": "a"}, {"key": "b", "after": ["a"]}).workflow_id
    hand.take()
    with hand.connection.transaction():
        leases.settle(hand.connection, hand.name, [hand.make_end("a")])
        waiting = beside(cancel_workflow, its_id)
        wait_for_waiter(connection)
    waiting.result(30)
    workflow = get_workflow(its_id)
    assert {step.key: step.status for step in workflow.steps} == {"a": "completed", "b": "canceled"}
    assert hand.take() == []


def test_an_end_after_a_cancel_that_is_under_way_starts_nothing(
    create: Create, hand: HandWorker, second: Connection, connection: Observer, beside: Callable[..., "Future[object]"]
) -> None:
    its_id = create({"key": "a"}, {"key": "b", "after": ["a"]}).workflow_id
    hand.take()
    with second.transaction():
        second.execute("SELECT callboard.cancel_workflow(%s, 'test', NULL)", [its_id])
        waiting = beside(leases.settle, hand.connection, hand.name, [hand.make_end("a")])
        wait_for_waiter(connection)
    waiting.result(30)
    workflow = get_workflow(its_id)
    assert (workflow.status, workflow.finished) == ("canceled", True)
    assert {step.key: step.status for step in workflow.steps} == {"a": "completed", "b": "canceled"}


def test_a_cancel_of_one_task_beside_the_cancel_of_all(
    create: Create, second: Connection, connection: Observer, beside: Callable[..., "Future[object]"]
) -> None:
    """Both lock the workflow before the tasks."""
    workflow = create(*({"key": f"s{n}"} for n in range(20)))
    ids = [step.task_id or "" for step in workflow.steps]
    with second.transaction():
        second.execute("SELECT callboard.cancel_workflow(%s, 'test', NULL)", [workflow.workflow_id])
        waiting = beside(cancel, ids[0])
        wait_for_waiter(connection)
    with pytest.raises(Exception, match="canceled"):
        waiting.result(30)


@pytest.mark.parametrize("people", [8])
def test_many_decide_and_cancel_at_once(create: Create, hand: HandWorker, connection: Observer, people: int) -> None:
    workflows = [create({"key": "ask", "kind": "approval"}, {"key": "go", "after": ["ask"]}) for _ in range(10)]

    def act(person: int) -> int:
        refused = 0
        for workflow in workflows:
            try:
                if person % 4 == 3:
                    cancel_workflow(workflow.workflow_id)
                else:
                    approve(workflow.workflow_id, "ask", by=f"person {person}")
            except (IllegalStep, IllegalWorkflow):
                refused += 1
        return refused

    with ThreadPoolExecutor(people) as pool:
        list(pool.map(act, range(people)))
    assert {get_workflow(each.workflow_id).status for each in workflows} == {"canceled"}
    assert count_tasks(connection, "go") <= 10
