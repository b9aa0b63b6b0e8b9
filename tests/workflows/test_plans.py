"""The orchestrator finds rows by indexes, however many tasks and workflows there have been."""

from collections.abc import Callable, Iterator

import pytest

from state.workflows import StoredWorkflow
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]

COUNTERS = (
    "SELECT coalesce(sum(seq_tup_read), 0) AS rows FROM pg_stat_xact_user_tables "
    "WHERE relname IN ('tasks', 'workflows', 'workflow_steps', 'events')"
)


@pytest.fixture
def session(database_url: str) -> Iterator[Observer]:
    """A connection that has read nothing before: what it reads is counted."""
    with Observer.open(database_url) as opened:
        yield opened


@pytest.fixture
def history(create: Create, connection: Observer) -> None:
    """20,000 tasks of the past, in 200 workflows, with statistics from before they were there."""
    connection.execute("ANALYZE callboard.tasks, callboard.workflows, callboard.workflow_steps")
    connection.execute(
        "INSERT INTO callboard.workflows (id, name, status, created_at, updated_at) "
        "SELECT 'wf_' || lpad(n::text, 32, '0'), 'old', 'completed', now(), now() FROM generate_series(1, 200) AS n"
    )
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(
            "INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, "
            "workflow_id, step, branch, available_at, created_at, updated_at) "
            "SELECT 'tq_' || lpad(n::text, 32, '0'), 'agent', 'agents', 'completed', 2, n, '{}', 3, "
            "'wf_' || lpad((n % 200 + 1)::text, 32, '0'), 's' || n / 200, 0, now(), now(), now() "
            "FROM generate_series(1, 20000) AS n"
        )
    connection.execute("UPDATE callboard.workflows SET last_event = 0 WHERE name = 'old'")


@pytest.mark.usefixtures("history")
def test_advancing_reads_no_table_from_end_to_end(create: Create, hand: HandWorker, session: Observer) -> None:
    workflow = create(
        {"key": "a"}, *({"key": f"b{n}", "after": ["a"]} for n in range(20)), {"key": "ask", "kind": "approval"}
    )
    hand.run("a")
    hand.take()
    hand.die("b3")
    with session.transaction():
        for _ in range(3):
            session.execute("SELECT callboard.advance_workflow(%s)", [workflow.workflow_id])
            session.execute("SELECT callboard.workflow_lives(%s)", [workflow.workflow_id])
            session.execute("SELECT callboard.resume_workflow(%s, NULL)", [workflow.workflow_id])
        assert session.fetch_one(COUNTERS)["rows"] == 0


@pytest.mark.usefixtures("history")
def test_a_thousand_branches_are_not_counted_at_each_end(
    create: Create, hand: HandWorker, connection: Observer, session: Observer
) -> None:
    """The end of one branch reads a few rows of the index, not those of all branches."""
    create({"key": "each", "for_each": list(range(1000))})
    hand.take()
    for branch in range(500):
        hand.complete("each", branch=branch)
    connection.execute("VACUUM callboard.tasks")
    query = "SELECT sum(idx_tup_fetch) + sum(seq_tup_read) AS n FROM pg_stat_xact_user_tables WHERE relname = 'tasks'"
    with session.transaction():
        row = session.execute("SELECT id FROM callboard.workflows WHERE name = 'test'").fetchone()
        assert row is not None
        session.execute("SELECT callboard.advance_workflow(%s)", [row["id"]])
        assert session.fetch_one(query)["n"] < 20
