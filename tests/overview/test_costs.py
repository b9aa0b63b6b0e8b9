"""The overview is read every few seconds: it must not read the history."""

from collections.abc import Sequence

import pytest

from state import database
from state.access.caller import SYSTEM, Caller
from state.database.connection import Call
from state.database.statements import numbered, parameters_of
from state.metrics.measurement import measure_tasks
from state.overview import reads
from state.overview.reads import get_overview
from tests.metrics.clock import START, StandingClock
from tests.metrics.history import make_history
from tests.overview.conftest import Enroll
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

TASKS = 20_000
MOST_PAGES = 250  # for all statements together; tasks, events and their indexes have thousands


def count_pages(connection: Observer, calls: Sequence[Call]) -> int:
    """Returns how many pages Postgres reads for these statements, planned for these parameters."""
    pages = 0
    for name, given in calls:
        values = [given[each] for each in parameters_of(name)]
        text = numbered(name, [value is not None for value in values]).decode()
        for number, value in enumerate([value for value in values if value is not None], 1):
            text = text.replace(f"${number}", f"'{value}'" if isinstance(value, str) else str(value))
        [plan] = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) {text}")["QUERY PLAN"]
        pages += plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    return pages


@pytest.mark.parametrize("caller", [SYSTEM, Caller("reader", tenant="acme")], ids=["all", "tenant"])
def test_it_does_not_read_the_history(
    caller: Caller,
    connection: Observer,
    clock: StandingClock,
    make_task: TaskBuilder,
    enroll: Enroll,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_history(connection, START, TASKS, 1.0)
    enroll()
    clock.advance(hours=6)
    for status in ("queued", "running", "dead", "dead", "scheduled", "waiting"):
        make_task(status, tenant="acme")
    clock.advance(minutes=1)
    while measure_tasks(3600):
        pass
    connection.execute("ANALYZE")
    calls: list[Call] = []
    fetch_each = database.fetch_each

    def note(asked: Sequence[Call]) -> object:
        calls.extend(asked)
        return fetch_each(asked)

    monkeypatch.setattr(reads, "fetch_each", note)
    found = get_overview(caller=caller)
    assert (found.states["queued"], found.states["dead"]) == (1, 2)
    assert len(calls) == 10
    assert count_pages(connection, calls) < MOST_PAGES
    everything = "SELECT count(*) AS n FROM callboard.tasks t WHERE t.payload ->> 'agent_name' = 'writer'"
    [plan] = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT json) {everything}")["QUERY PLAN"]
    assert plan["Plan"]["Shared Hit Blocks"] > MOST_PAGES, "the test would see it when the history is read"
