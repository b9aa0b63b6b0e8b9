"""Gates that operators change at run time: limits, pauses, closures."""

from collections.abc import Callable
from typing import Any

import pytest

from state import NewTask, get_task, submit, submit_many
from state.database import Connection
from state.errors import GateNotFound, InvalidPayload
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines
from state.workers.leases import Claimed
from tests.state.gated import finish, many, statuses
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


pytestmark = pytest.mark.usefixtures("gated")


def test_limits_change_at_run_time_also_by_plain_sql(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    ids = many(6, p=1)
    started = take(10)
    assert len(started) == 1
    connection.execute("UPDATE callboard.gates SET max_concurrent = 3 WHERE key = 'p'")
    sweep_lines()
    started += take(10)
    assert len(started) == 3
    connection.execute("UPDATE callboard.gates SET max_concurrent = 1 WHERE key = 'p'")
    finish(worker_connection, started[0])
    finish(worker_connection, started[1])
    sweep_lines()
    assert take(10) == []
    finish(worker_connection, started[2])
    assert len(take(10)) == 1
    assert statuses(*ids).count("waiting") == 2


def test_a_limit_set_while_tasks_run_counts_them(take: Take) -> None:
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(4)])
    assert len(take(2)) == 2
    put_gate("tenant:t", max_concurrent=2)
    assert take(10) == []


def test_a_deploy_does_not_undo_an_operators_limit() -> None:
    declare([Gate("provider:x", 3)])
    put_gate("provider:x", max_concurrent=7)
    declare([Gate("provider:x", 4)])
    assert get_gate("provider:x")["max_concurrent"] == 7
    put_gate("provider:x", max_concurrent=4)
    declare([Gate("provider:x", 5)])
    assert get_gate("provider:x")["max_concurrent"] == 5


@pytest.mark.parametrize("how", ["paused", "closed_until"])
def test_a_closed_gate_and_its_opening(take: Take, connection: Observer, clock: Clock, how: str) -> None:
    declare([Gate("p", 5)])
    value = "true" if how == "paused" else "callboard.now() + interval '10 seconds'"
    connection.execute(f"UPDATE callboard.gates SET {how} = {value}")
    [task_id] = many(1, p=5)
    assert take(10) == []
    waiting = get_task(task_id).waiting
    assert waiting is not None
    assert waiting["reason"].startswith("paused" if how == "paused" else "closed until")
    if how == "paused":
        put_gate("p", paused=False)
    else:
        clock.advance(11)
        sweep_lines()
    assert len(take(10)) == 1


def test_a_paused_queue_leaves_its_tasks_queued(take: Take) -> None:
    quick, slow = submit("quick", {}).task_id, submit("slow", {}).task_id
    put_gate("queue:one", paused=True)
    assert [task.id for task in take(10)] == [slow]
    assert statuses(quick) == ["queued"]
    put_gate("queue:one", paused=False)
    assert [task.id for task in take(10)] == [quick]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"max_concurrent": -1}, "max_concurrent"),
        ({"max_concurrent": 1.5}, "max_concurrent"),
        ({"rate_count": 1, "rate_seconds": 0}, "rate_seconds"),
        ({"rate_count": 5}, "rate_seconds"),
        ({"paused": "yes"}, "paused"),
        ({"breaker_threshold": 2}, "breaker_threshold"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_bad_changes_name_their_field(database_url: str, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        put_gate("tenant:t", **changes)
    assert refused.value.field == field


def test_an_unknown_gate(database_url: str) -> None:
    with pytest.raises(GateNotFound):
        put_gate("no such gate", max_concurrent=1)
