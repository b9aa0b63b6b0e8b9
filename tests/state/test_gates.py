"""Gates at the claim: limits, lines, wake-ups, rates, targets, tenants; each known flaw is a test."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from state import NewTask, cancel, get_events, get_task, submit, submit_many
from state.database.connection import Connection
from state.database.pool import get_database
from state.errors import GateNotFound, InvalidPayload
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import get_gate, put_gate
from state.gates.waking import sweep_lines
from state.maintenance.sweep import sweep
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import failed, finish, gated_task, many, statuses
from tests.support.clock import Clock
from tests.support.eventually import eventually

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def test_a_limit_holds_and_the_others_wait_in_line(desk: Connection, take: Take) -> None:
    ids = [gated_task(p=2) for _ in range(4)]
    assert [task.id for task in take(10)] == ids[:2]
    assert statuses(*ids) == ["running", "running", "waiting", "waiting"]
    line = get_task(ids[3])
    assert line.waiting is not None
    assert (line.waiting["gate"], line.waiting["position"]) == ("p", 2)
    assert [(e.data["from"], e.data["to"]) for e in get_events(ids[2])] == [(None, "queued"), ("queued", "waiting")]


def test_whoever_leaves_wakes_the_next_best_first(desk: Connection, take: Take) -> None:
    first = gated_task(p=1)
    [running] = take(10)
    low, high = gated_task(priority=3, p=1), gated_task(priority=0, p=1)
    take(10)
    assert statuses(first, low, high) == ["running", "waiting", "waiting"]
    finish(desk, running)
    assert statuses(low, high) == ["waiting", "queued"]
    assert [task.id for task in take(10)] == [high]


def test_opening_a_gate_of_three_starts_exactly_three(desk: Connection, take: Take) -> None:
    put_gate("tenant:t", max_concurrent=0)
    ids = submit_many([NewTask("quick", {}, tenant="t", priority=n % 4) for n in range(20)])
    assert not take(10)
    assert len(take(10)) == 0
    put_gate("tenant:t", max_concurrent=3)
    started = take(10)
    assert len(started) == 3
    assert {get_task(task.id).priority for task in started} == {0}
    assert statuses(*ids).count("waiting") == 17


def test_a_new_task_joins_a_line_at_submit(take: Take) -> None:
    many(3, p=1)
    take(10)
    assert statuses(gated_task(p=1)) == ["waiting"]


def test_a_big_batch_does_not_stand_in_the_way_of_others(take: Take) -> None:
    many(1000, p=1)
    other = submit("quick", {}).task_id
    started = [task.id for task in take(4)]
    assert other in started
    assert len(started) == 2


def test_what_is_queued_for_a_full_gate_is_parked_in_bulk(take: Take, connection: psycopg.Connection) -> None:
    for _ in range(8):
        many(60, p=1)  # below the size at which a batch forms a line by itself
    other = submit("quick", {}).task_id
    started = {task.id for task in take(4)} | {task.id for task in take(4)}
    assert other in started
    waiting = connection.execute("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'waiting'").fetchone()
    assert waiting == {"n": 479}


def test_concurrent_claims_never_exceed_a_limit(take: Take, connection: psycopg.Connection) -> None:
    many(60, p=3)
    errors: list[BaseException] = []
    start = threading.Barrier(6)

    def work(worker: str) -> None:
        try:
            with get_database().connect("test") as own:
                start.wait()
                for _ in range(15):
                    for task in take(4, worker=worker, connection=own):
                        count = own.execute("SELECT count(*) AS n FROM callboard.leases").fetchone()
                        assert count is not None
                        assert count["n"] <= 3
                        finish(own, task, worker=worker)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors


def test_a_task_with_two_gates_does_not_starve(desk: Connection, take: Take) -> None:
    blockers_a, blockers_b = many(1, a=1), many(1, b=1)
    running = {task.id: task for task in take(10)}
    both = gated_task(priority=0, a=1, b=1)
    take(10)
    current_a, current_b = running[blockers_a[0]], running[blockers_b[0]]
    for _ in range(12):
        many(2, a=1)
        many(2, b=1)
        finish(desk, current_a)
        started = {tuple(get_task(task.id).gates): task for task in take(10)}
        if ("a", "b") in started:
            break
        current_a = started.get(("a",), current_a)
        finish(desk, current_b)
        started = {tuple(get_task(task.id).gates): task for task in take(10)}
        if ("a", "b") in started:
            break
        current_b = started.get(("b",), current_b)
    assert get_task(both).status == "running"


def test_reservations_are_dropped_on_cancel(take: Take, connection: psycopg.Connection) -> None:
    task_id = gated_task(a=1)
    connection.execute("UPDATE callboard.tasks SET bounces = 5 WHERE id = %s", [task_id])
    connection.execute(
        "INSERT INTO callboard.reservations VALUES ('a', %s, callboard.now() + interval '30 seconds')", [task_id]
    )
    cancel(task_id)
    assert connection.execute("SELECT * FROM callboard.reservations").fetchall() == []


def test_a_woken_task_that_is_canceled_passes_its_turn_on(desk: Connection, take: Take) -> None:
    many(1, p=1)
    [running] = take(10)
    second, third = many(2, p=1)
    take(10)
    finish(desk, running)
    assert statuses(second, third) == ["queued", "waiting"]
    cancel(second)
    assert statuses(third) == ["queued"]


def test_a_woken_task_nobody_claims_does_not_hold_the_line_for_ever(desk: Connection, take: Take, clock: Clock) -> None:
    many(1, p=1)
    [running] = take(10)
    second, third = many(2, p=1)
    take(10)
    finish(desk, running)
    sweep_lines()
    assert statuses(second, third) == ["queued", "waiting"]
    clock.advance(3)
    sweep_lines()
    assert statuses(third) == ["queued"]


def test_target_order_holds_while_the_first_is_locked(take: Take, connection: psycopg.Connection) -> None:
    first, second = (submit("quick", {}, target="t").task_id for _ in range(2))
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [first])
        assert take(10) == []
    assert [task.id for task in take(10)] == [first]
    assert statuses(second) == ["waiting"]


def test_submit_in_an_open_transaction_blocks_no_gate(take: Take, connection: psycopg.Connection) -> None:
    ready = gated_task(p=1)
    with connection.transaction():
        submit("gated", {"gates": {"p": 1, "fresh": 1}}, conn=connection)
        assert [task.id for task in take(10)] == [ready]


def test_a_missing_gate_is_not_an_open_one(take: Take, connection: psycopg.Connection) -> None:
    many(5, fresh=2)
    assert len(take(10)) == 2
    assert get_gate("fresh")["max_concurrent"] == 2


def test_cancel_requested_and_worker_lost_is_canceled(take: Take) -> None:
    task_id = gated_task(p=1)
    take(1)
    cancel(task_id)
    sweep(["w1"])
    assert statuses(task_id) == ["canceled"]


def test_a_lost_worker_gives_its_slots_back(take: Take) -> None:
    first, second = many(2, p=1)
    take(10)
    sweep(["w1"])
    assert statuses(first) == ["queued"]
    [again] = take(10)
    assert again.id in (first, second)


def test_limits_change_at_run_time_also_by_plain_sql(
    desk: Connection, take: Take, connection: psycopg.Connection
) -> None:
    ids = many(6, p=1)
    started = take(10)
    assert len(started) == 1
    connection.execute("UPDATE callboard.gates SET max_concurrent = 3 WHERE key = 'p'")
    sweep_lines()
    started += take(10)
    assert len(started) == 3
    connection.execute("UPDATE callboard.gates SET max_concurrent = 1 WHERE key = 'p'")
    finish(desk, started[0])
    finish(desk, started[1])
    sweep_lines()
    assert take(10) == []
    finish(desk, started[2])
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


def test_a_rate_lets_so_many_start_in_so_many_seconds(take: Take, clock: Clock) -> None:
    put_gate("tenant:t", rate_count=2, rate_seconds=10)
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(5)])
    assert len(take(10)) == 2
    clock.advance(9)
    sweep_lines()
    assert take(10) == []
    clock.advance(2)
    sweep_lines()
    assert len(take(10)) == 2


@pytest.mark.parametrize("how", ["paused", "closed_until"])
def test_a_closed_gate_and_its_opening(take: Take, connection: psycopg.Connection, clock: Clock, how: str) -> None:
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


def test_a_target_works_off_its_tasks_in_order_of_arrival(desk: Connection, take: Take) -> None:
    ids = [submit("quick", {}, target="t", priority=3 - n).task_id for n in range(3)]
    other = submit("quick", {}, target="t", tenant="x").task_id  # another tenant's target of the same name
    started = take(10)
    assert {task.id for task in started} == {ids[0], other}
    first = next(task for task in started if task.id == ids[0])
    failed(desk, first)  # waits for its retry: the target stands still
    assert statuses(*ids) == ["scheduled", "waiting", "waiting"]
    assert take(10) == []
    cancel(ids[0])
    assert [task.id for task in take(10)] == [ids[1]]


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


def test_woken_by_the_sweep_when_the_wake_up_was_lost(desk: Connection, take: Take) -> None:
    first, second = many(2, p=1)
    [running] = take(10)
    leases.settle(
        desk, "w1", [Settlement(running.id, running.epoch, "completed")]
    )  # and the worker dies before it wakes
    assert statuses(first, second) == ["completed", "waiting"]
    assert eventually(lambda: [row["id"] for row in sweep_lines()[0]]) == [second]
