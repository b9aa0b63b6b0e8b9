"""For tests of the metrics: a clock that stands still, and metrics that begin at its first moment."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from state.database import Connection, connect
from state.metrics.measurement import measure_tasks
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from tests.metrics.clock import START, StandingClock
from tests.support.builders import TaskBuilder
from tests.support.claims import Claimer, FreePayload, enter_simple_actors
from tests.support.observer import Observer

COUNTS = ("tasks_created", "tasks_completed", "tasks_failed", "attempts", "attempts_failed")


@pytest.fixture
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`quick`, `slow` and `agent`, without their code."""
    enter_simple_actors(monkeypatch, FreePayload)
    catalog.register(ActorSpec("agent", "one", FreePayload, 3, lambda: None, 60, STANDARD_POLICY, ""))


@pytest.fixture
def clock(connection: Observer) -> StandingClock:
    standing = StandingClock(connection)
    connection.execute(
        "UPDATE callboard.metrics_progress SET measured_until = %(at)s, final_until = %(at)s", {"at": START}
    )
    return standing


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    with connect("test") as connection:
        yield connection


@pytest.fixture
def take(actors: None, worker_connection: Connection) -> Claimer:
    return Claimer(worker_connection)


@pytest.fixture
def make_task(actors: None, clock: StandingClock, worker_connection: Connection, connection: Observer) -> TaskBuilder:
    return TaskBuilder(worker_connection, connection)


@pytest.fixture
def measure(clock: StandingClock) -> Callable[[], int]:
    """Measures all that is due, in batches of ten minutes. Returns how many batches there were."""

    def run() -> int:
        batches = 0
        while measure_tasks(600):
            batches += 1
        return batches

    return run


Counts = dict[tuple[str, str, str, str], tuple[int, ...]]


@pytest.fixture
def counts(connection: Observer) -> Callable[[], Counts]:
    """Returns created, completed, failed, attempts, attempts_failed by (HH:MM, actor, agent, task type). Checks that
    the attempts, which are counted from events, are those in callboard.attempts."""

    def read() -> Counts:
        rows: list[dict[str, Any]] = connection.execute(
            "SELECT to_char(minute AT TIME ZONE 'UTC', 'HH24:MI') AS at, * FROM callboard.task_queue_metrics "
            "WHERE actor NOT IN ('', 'embedding') ORDER BY minute, actor"  # embeddings follow agents' tasks
        ).fetchall()
        ended = connection.fetch_one(
            "SELECT count(*) FILTER (WHERE outcome IN ('completed', 'failed', 'lost')) AS attempts,"
            " count(*) FILTER (WHERE outcome IN ('failed', 'lost')) AS attempts_failed FROM callboard.attempts "
            "WHERE finished_at < (SELECT measured_until FROM callboard.metrics_progress)"
        )
        assert {name: sum(row[name] for row in rows) for name in ended} == ended
        return {
            (row["at"], row["actor"], row["agent_name"], row["task_type"]): tuple(row[name] for name in COUNTS)
            for row in rows
        }

    return read
