"""A gate that another transaction has locked: no worker waits for it, and everything else goes on."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from state import submit
from state.database import Connection, connect
from state.database.pool import borrow
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines, wake
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import gated_task, many, statuses
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated", "impatient")

HOLDS = {
    "an update left open": "UPDATE callboard.gates SET max_concurrent = 5 WHERE key = 'provider:p'",
    "a row lock": "SELECT FROM callboard.gates WHERE key = 'provider:p' FOR UPDATE",
}


@pytest.fixture
def impatient(worker_connection: Connection) -> None:
    """Any wait for a lock fails the test: on the worker's connection, and on the one of the pool that is used next."""
    worker_connection.execute("SET lock_timeout = '200ms'")
    with borrow() as own:
        own.execute("SET lock_timeout = '200ms'")


@pytest.fixture
def holder(database_url: str) -> Iterator[Connection]:
    """A connection with a transaction that stays open."""
    with connect("holder") as connection:
        connection.execute("BEGIN")
        yield connection
        connection.execute("ROLLBACK")


@pytest.fixture(params=HOLDS)
def held(request: pytest.FixtureRequest, take: Take, holder: Connection) -> list[Claimed]:
    """Two tasks run at the gate, one waits in its line, and then another transaction locks it."""
    declare([Gate("provider:p", 2, breaker=True)])
    many(3, **{"provider:p": 2})
    running = take(10)
    assert len(running) == 2
    holder.execute(HOLDS[request.param])
    return running


def test_claims_go_on(held: list[Claimed], take: Take) -> None:
    left = gated_task(**{"provider:p": 2})
    connected = gated_task(**{"provider:p": 2, "q": 1})
    other = submit("quick", {}).task_id
    assert [task.id for task in take(10)] == [other]
    assert statuses(left, connected) == ["waiting", "waiting"]  # joined the line at submit


def test_a_claim_leaves_tasks_that_are_queued_for_it(take: Take, holder: Connection) -> None:
    declare([Gate("provider:p", 2)])
    first = gated_task(**{"provider:p": 2})
    other = gated_task(q=1)
    holder.execute(HOLDS["an update left open"])
    assert [task.id for task in take(10)] == [other]
    assert statuses(first) == ["queued"]


def test_a_settle_goes_on(worker_connection: Connection, held: list[Claimed]) -> None:
    settled = leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "completed") for task in held])
    assert len(settled) == 2


def test_a_pause_that_a_service_asks_for_is_handed_back(
    worker_connection: Connection, held: list[Claimed], take: Take
) -> None:
    gated_task(**{"provider:free": 1})
    [other] = take()
    first, second = held
    assert leases.close_gates(worker_connection, {first.id: 40, other.id: 30, second.id: 20}) == {first.id, second.id}
    assert get_gate("provider:free")["closed_until"] is not None
    assert get_gate("provider:p")["closed_until"] is None


def test_a_wake_is_handed_back(
    worker_connection: Connection, held: list[Claimed], holder: Connection, take: Take
) -> None:
    leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "completed") for task in held])
    assert wake(["provider:p", "q"]) == {"provider:p"}
    request = leases.ClaimRequest("w1", 99, ["one"], [], 1, 0, 0, [], None, 0.3)
    answer = leases.claim(worker_connection, request, wake=["provider:p", "q"])
    assert (answer.tasks, answer.busy, answer.woken) == ([], ["provider:p"], [])
    holder.execute("ROLLBACK")
    answer = leases.claim(worker_connection, request, wake=answer.busy)
    assert len(answer.tasks) == len(answer.woken) == 1


def test_the_sweep_of_lines_goes_on(worker_connection: Connection, held: list[Claimed], take: Take) -> None:
    many(2, z=1)
    [running] = take(10)
    leases.settle(worker_connection, "w1", [Settlement(running.id, running.epoch, "completed")])
    woken, _ = sweep_lines()
    assert len(woken) == 1
    assert len(take(10)) == 1


def test_a_boot_goes_on(held: list[Claimed]) -> None:
    changed = Gate("provider:p", 7, breaker=True)
    assert declare([Gate("provider:new", 1), changed]) == [changed]
    assert get_gate("provider:new")["max_concurrent"] == 1
    assert declare([Gate("provider:p", 2, breaker=True)]) == []  # nothing to change, nothing to wait for


def test_an_uncommitted_insert_of_the_key(take: Take, holder: Connection) -> None:
    holder.execute("INSERT INTO callboard.gates (key, max_concurrent) VALUES ('provider:new', 9)")
    first = gated_task(**{"provider:new": 1})
    other = gated_task(q=1)
    assert [task.id for task in take(10)] == [other]
    assert statuses(first) == ["queued"]
    new = Gate("provider:new", 1)
    assert declare([new, Gate("provider:other", 1)]) == [new]
    holder.execute("ROLLBACK")
    assert [task.id for task in take(10)] == [first]
    assert get_gate("provider:new")["max_concurrent"] == 1


def test_an_uncommitted_insert_of_a_gate_that_does_not_count(take: Take, holder: Connection) -> None:
    """The claim wants to insert it with the limit that the task names."""
    holder.execute("INSERT INTO callboard.gates (key) VALUES ('provider:new')")
    first = gated_task(**{"provider:new": 1})
    other = gated_task(q=1)
    assert [task.id for task in take(10)] == [other]
    assert statuses(first) == ["queued"]


def test_a_target_that_another_claim_looks_at(take: Take, holder: Connection) -> None:
    first = submit("quick", {}, target="t").task_id
    holder.execute("SELECT pg_advisory_xact_lock(hashtextextended('target:/t', 7))")
    other = submit("quick", {}, target="u").task_id
    assert [task.id for task in take(10)] == [other]
    holder.execute("ROLLBACK")
    assert [task.id for task in take(10)] == [first]


def test_parking_a_burst_locks_none_of_the_others(take: Take, connection: Observer, holder: Connection) -> None:
    """While a claim that parks tasks behind a full gate is not committed, others can claim what it has passed over."""
    many(1, p=1)
    take(1)
    for _ in range(4):
        gated_task(p=1)
        submit("quick", {})
    assert len(take(1, connection=holder)) == 1
    parked = holder.execute("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'waiting'").fetchone()
    assert parked == {"n": 4}
    assert len(take(10)) == 3


def test_operators_wait_for_each_other_but_not_for_ever(held: list[Claimed]) -> None:
    with pytest.raises(psycopg.errors.LockNotAvailable), borrow() as own:
        own.execute("UPDATE callboard.gates SET paused = true WHERE key = 'provider:p'")
    assert put_gate("tenant:t", max_concurrent=1)["max_concurrent"] == 1
