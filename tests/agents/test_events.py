"""An agent event and its embedding job: written in the transaction that completes the task, once, whatever ends it."""

import signal
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import state
import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from state import get_events, get_task
from state.database import transaction
from state.maintenance.losses import set_on_loss
from state.maintenance.sweep import read_last_seen, sweep
from state.projects.items import NewItem, add_items, create_project
from state.projects.queue import start_run
from state.projects.reads import Mode, get_project
from state.tasks import catalog
from state.workers import leases
from state.workers.leases import Settlement
from tests.agents.completing import AgentWorker, count_events, read_event, submit_agent
from tests.support.claims import BOOM
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_a_completed_task_has_its_event_and_its_job(agent_worker: AgentWorker, connection: Observer) -> None:
    task_id = submit_agent("three little words", tenant="acme")
    [claimed] = agent_worker.claim()
    agent_worker.settle(claimed, result={"words": 3, "summary": "Three words were counted."})
    event = read_event(connection, task_id)
    assert event["id"].startswith("ae_")
    assert (event["tenant"], event["agent_name"], event["task_type"]) == ("acme", "text", "statistics")
    assert (event["input"], event["result"]["words"]) == ({"text": "three little words"}, 3)
    assert event["text"] == "text statistics\ntext: three little words\nThree words were counted."
    assert event["embedding"] is event["embedded_at"] is None
    job = get_task(event["job_id"])
    assert (job.actor, job.status, job.priority, job.tenant) == ("embedding", "queued", 3, "acme")
    assert job.payload == {"event_id": event["id"]}
    assert [(line.n, line.kind, line.data) for line in get_events(job.task_id)] == [
        (1, "status", {"from": None, "to": "queued"})
    ]
    assert count_events(connection) == 1
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_the_job_is_what_the_actor_declares(agent_worker: AgentWorker, connection: Observer) -> None:
    agent_worker.complete(tenant="acme")
    spec = catalog.get("embedding")
    job = connection.fetch_one("SELECT * FROM callboard.tasks WHERE actor = 'embedding'")
    assert (job["queue"], job["max_attempts"]) == (spec.queue, spec.max_attempts)
    spec.validate(job["payload"])
    submitted = state.submit("embedding", {"texts": ["a"]}, tenant="acme", priority=3)
    like = connection.fetch_one("SELECT * FROM callboard.tasks WHERE id = %s", [submitted.task_id])
    same = ("queue", "lane", "priority", "gates", "gate_limits", "max_attempts", "max_age", "expires_at", "last_event")
    assert {name: job[name] for name in same} == {name: like[name] for name in same}
    assert job["rank"] < like["rank"]


def test_a_rolled_back_end_leaves_neither(agent_worker: AgentWorker, connection: Observer) -> None:
    task_id = submit_agent()
    [claimed] = agent_worker.claim()
    end = Settlement(claimed.id, claimed.epoch, "completed", result={})
    with transaction() as conn:
        assert leases.settle(conn, "w1", [end])
        assert conn.execute("SELECT count(*) AS n FROM callboard.agent_events").fetchone() == {"n": 1}
        raise psycopg.Rollback
    assert (get_task(task_id).status, count_events(connection)) == ("running", 0)
    agent_worker.settle(claimed, result={})
    assert (get_task(task_id).status, count_events(connection)) == ("completed", 1)


def test_a_killed_worker_leaves_none_or_both(worker: Start, connection: Observer) -> None:
    """Kills the process while a settlement waits for a lock in the middle of its transaction."""
    tree = worker()
    with psycopg.connect(connection.info.dsn) as blocker:
        blocker.execute("LOCK TABLE callboard.agent_events IN SHARE MODE")
        task_id = submit_agent()
        eventually(
            lambda: connection.execute(
                "SELECT FROM pg_locks WHERE relation = 'callboard.agent_events'::regclass AND NOT granted"
            ).fetchall(),
            what="the end of the task waits for the lock",
        )
        tree.signal_all(signal.SIGKILL)
        blocker.rollback()
    worker()
    assert wait_until_finished(task_id).status == "completed"
    assert count_events(connection) == 1


def test_one_event_over_retries(agent_worker: AgentWorker, connection: Observer, clock: Clock) -> None:
    task_id = submit_agent()
    [first] = agent_worker.claim()
    agent_worker.settle(first, "failed", error=BOOM, retry_seconds=5)
    assert count_events(connection) == 0
    clock.advance(6)
    sweep(silent=read_last_seen())
    [second] = agent_worker.claim()
    agent_worker.settle(second, result={"report": "at last"})
    assert (second.id, second.attempt, count_events(connection)) == (task_id, 2, 1)
    assert "at last" in read_event(connection, task_id)["text"]


def test_a_task_that_fails_or_is_canceled_has_none(agent_worker: AgentWorker, connection: Observer) -> None:
    submit_agent()
    [claimed] = agent_worker.claim()
    agent_worker.settle(claimed, "failed", error=BOOM)
    state.cancel(submit_agent())
    assert get_task(claimed.id).status == "dead"
    assert count_events(connection) == 0
    state.retry(claimed.id)
    [again] = agent_worker.claim()
    agent_worker.settle(again, result={})
    assert count_events(connection) == 1


def test_other_actors_have_none(agent_worker: AgentWorker, connection: Observer) -> None:
    state.submit("embedding", {"texts": ["a"]})
    [claimed] = agent_worker.claim(queue="language")
    agent_worker.settle(claimed, result={"agent_name": "text"})
    assert connection.execute("SELECT FROM callboard.agent_events").fetchall() == []


def test_an_end_that_is_written_after_the_death_of_its_worker(
    agent_worker: AgentWorker, connection: Observer, clock: Clock
) -> None:
    task_id = submit_agent()
    [claimed] = agent_worker.claim()
    settlement = {"outcome": "completed", "result": {"text": "left behind"}, "error": None, "retry_seconds": None}
    set_on_loss(agent_worker.connection, "w1", {(task_id, claimed.epoch): {"report": None, "settlement": settlement}})
    clock.advance(31)
    sweep(silent=read_last_seen())
    assert (get_task(task_id).status, count_events(connection)) == ("completed", 1)
    assert "left behind" in read_event(connection, task_id)["text"]


def test_ctx_transaction_completes_with_the_event(worker: Start, connection: Observer) -> None:
    worker(actors="actors,tests.agents.memoryagents")
    payload = {"agent_name": "librarian", "task_type": "shelve", "input": {"text": "a book of maps"}}
    task = wait_until_finished(state.submit("agent", payload).task_id)
    assert (task.status, task.result) == ("completed", {"summary": "shelved a book of maps"})
    assert eventually(lambda: read_event(connection, task.task_id)["embedded_at"], what="the event is embedded")
    assert count_events(connection) == 1


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=50),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["summary", "text", "report", "item_id", "result", "x'\\y"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(JSON)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_result_can_keep_a_task_from_its_end(agent_worker: AgentWorker, connection: Observer, result: Any) -> None:
    agent_worker.complete(result=result)


@pytest.mark.parametrize(
    "result",
    [
        {"text": "wort " * 200_000},
        {"words": {f"key{n}": "x" * 1000 for n in range(3000)}},
        ["long " * 100_000],
        {"summary": "a" * 10_000},  # one word, longer than an index can hold
        {"text": "', \\ | & ! :* <-> \" \u2028 \U0001f98a"},
        {"summary": "", "text": None, "report": ["not text"]},
    ],
)
def test_large_and_odd_results(agent_worker: AgentWorker, connection: Observer, result: Any) -> None:
    agent_worker.complete("y " * 40_000, result)
    event = connection.fetch_one("SELECT text, result FROM callboard.agent_events")
    assert event["result"] == result
    assert 20 < len(event["text"]) <= 20_000


def test_a_run_of_a_project_is_recorded_with_its_item(worker: Start, connection: Observer) -> None:
    """Its result names the item; that of a task that ctx.transaction() completes is the agent's own. A run that finds
    nothing to do has no event."""
    worker(actors="actors,tests.agents.memoryagents")
    project_id = create_project("Library", tenant="acme").project_id
    titles = {"remember": "Ask around", "shelve": "Sort the shelf"}
    items = [NewItem(title, "librarian", kind, {"text": f"a book: {title}"}) for kind, title in titles.items()]
    add_items(project_id, items)
    modes: tuple[Mode, ...] = ("loop", "single")  # the second one finds nothing to do
    for mode in modes:
        start_run(project_id, mode)
        eventually(lambda: not get_project(project_id).queue_state.is_running, what="the queue has stopped")
    first, second = connection.execute("SELECT * FROM callboard.agent_events ORDER BY id").fetchall()
    assert (first["agent_name"], first["task_type"], first["tenant"]) == ("librarian", "remember", "acme")
    assert first["input"] == {"text": "a book: Ask around"}
    assert first["text"].startswith("librarian remember\nAsk around\ntext: a book: Ask around\n")
    assert "item_id" not in first["result"]
    assert second["text"].endswith("\nshelved a book: Sort the shelf")
    assert second["result"] == {"summary": "shelved a book: Sort the shelf"}
    assert count_events(connection) == 2


def test_a_deleted_task_takes_its_event_out_of_sight(agent_worker: AgentWorker, connection: Observer) -> None:
    event_id = agent_worker.complete("a secret recipe")
    task_id = connection.fetch_one("SELECT task_id FROM callboard.agent_events")["task_id"]
    state.delete(task_id)
    row = connection.fetch_one("SELECT id, hidden_at FROM callboard.agent_events")
    assert row["id"] == event_id
    assert row["hidden_at"] is not None
