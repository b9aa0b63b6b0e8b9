"""Gates at the claim: limits, lines, wake-ups, rates, targets, tenants; each known flaw is a test."""

import threading
from collections.abc import Callable

import pytest

from state import NewTask, cancel, get_events, get_task, submit, submit_many
from state.database import Connection, connect
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines
from state.maintenance.sweep import sweep
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import failed, finish, gated_task, many, statuses
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


pytestmark = pytest.mark.usefixtures("gated")


def test_a_limit_holds_and_the_others_wait_in_line(worker_connection: Connection, take: Take) -> None:
    ids = [gated_task(p=2) for _ in range(4)]
    assert [task.id for task in take(10)] == ids[:2]
    assert statuses(*ids) == ["running", "running", "waiting", "waiting"]
    line = get_task(ids[3])
    assert line.waiting is not None
    assert (line.waiting["gate"], line.waiting["position"]) == ("p", 2)
    assert [(e.data["from"], e.data["to"]) for e in get_events(ids[2])] == [(None, "queued"), ("queued", "waiting")]


def test_a_task_that_ends_wakes_the_next_one_best_first(worker_connection: Connection, take: Take) -> None:
    first = gated_task(p=1)
    [running] = take(10)
    low, high = gated_task(priority=3, p=1), gated_task(priority=0, p=1)
    take(10)
    assert statuses(first, low, high) == ["running", "waiting", "waiting"]
    finish(worker_connection, running)
    assert statuses(low, high) == ["waiting", "queued"]
    assert [task.id for task in take(10)] == [high]


def test_opening_a_gate_of_three_starts_exactly_three(worker_connection: Connection, take: Take) -> None:
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


def test_tasks_queued_for_a_full_gate_are_parked_in_bulk(take: Take, connection: Observer) -> None:
    for _ in range(8):
        many(60, p=1)  # below the size at which a batch forms a line by itself
    other = submit("quick", {}).task_id
    started = {task.id for task in take(4)} | {task.id for task in take(4)}
    assert other in started
    waiting = connection.execute("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'waiting'").fetchone()
    assert waiting == {"n": 479}


def test_concurrent_claims_never_exceed_a_limit(take: Take, connection: Observer) -> None:
    many(60, p=3)
    errors: list[BaseException] = []
    start = threading.Barrier(6)

    def work(worker: str) -> None:
        try:
            with connect("test") as own:
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


def test_a_task_with_two_gates_does_not_starve(worker_connection: Connection, take: Take) -> None:
    blockers_a, blockers_b = many(1, a=1), many(1, b=1)
    running = {task.id: task for task in take(10)}
    both = gated_task(priority=0, a=1, b=1)
    take(10)
    current_a, current_b = running[blockers_a[0]], running[blockers_b[0]]
    for _ in range(12):
        many(2, a=1)
        many(2, b=1)
        finish(worker_connection, current_a)
        started = {tuple(get_task(task.id).gates): task for task in take(10)}
        if ("a", "b") in started:
            break
        current_a = started.get(("a",), current_a)
        finish(worker_connection, current_b)
        started = {tuple(get_task(task.id).gates): task for task in take(10)}
        if ("a", "b") in started:
            break
        current_b = started.get(("b",), current_b)
    assert get_task(both).status == "running"


def test_reservations_are_dropped_on_cancel(take: Take, connection: Observer) -> None:
    task_id = gated_task(a=1)
    connection.execute("UPDATE callboard.tasks SET bounces = 5 WHERE id = %s", [task_id])
    connection.execute(
        "INSERT INTO callboard.reservations VALUES ('a', %s, callboard.now() + interval '30 seconds')", [task_id]
    )
    cancel(task_id)
    assert connection.execute("SELECT * FROM callboard.reservations").fetchall() == []


def test_a_woken_task_that_is_canceled_passes_its_turn_on(worker_connection: Connection, take: Take) -> None:
    many(1, p=1)
    [running] = take(10)
    second, third = many(2, p=1)
    take(10)
    finish(worker_connection, running)
    assert statuses(second, third) == ["queued", "waiting"]
    cancel(second)
    assert statuses(third) == ["queued"]


def test_a_woken_task_that_is_not_claimed_does_not_hold_the_line_forever(
    worker_connection: Connection, take: Take, clock: Clock
) -> None:
    many(1, p=1)
    [running] = take(10)
    second, third = many(2, p=1)
    take(10)
    finish(worker_connection, running)
    sweep_lines()
    assert statuses(second, third) == ["queued", "waiting"]
    clock.advance(3)
    sweep_lines()
    assert statuses(third) == ["queued"]


def test_target_order_holds_while_the_first_is_locked(take: Take, connection: Observer) -> None:
    first, second = (submit("quick", {}, target="t").task_id for _ in range(2))
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [first])
        assert take(10) == []
    assert [task.id for task in take(10)] == [first]
    assert statuses(second) == ["waiting"]


def test_submit_in_an_open_transaction_blocks_no_gate(take: Take, connection: Observer) -> None:
    ready = gated_task(p=1)
    with connection.transaction():
        submit("gated", {"gates": {"p": 1, "fresh": 1}}, conn=connection)
        assert [task.id for task in take(10)] == [ready]


def test_a_missing_gate_is_not_an_open_one(take: Take, connection: Observer) -> None:
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


def test_a_target_works_off_its_tasks_in_order_of_arrival(worker_connection: Connection, take: Take) -> None:
    ids = [submit("quick", {}, target="t", priority=3 - n).task_id for n in range(3)]
    other = submit("quick", {}, target="t", tenant="x").task_id  # another tenant's target of the same name
    started = take(10)
    assert {task.id for task in started} == {ids[0], other}
    first = next(task for task in started if task.id == ids[0])
    failed(worker_connection, first)  # waits for its retry: the target stands still
    assert statuses(*ids) == ["scheduled", "waiting", "waiting"]
    assert take(10) == []
    cancel(ids[0])
    assert [task.id for task in take(10)] == [ids[1]]


def test_woken_by_the_sweep_when_the_wake_up_was_lost(worker_connection: Connection, take: Take) -> None:
    first, second = many(2, p=1)
    [running] = take(10)
    leases.settle(
        worker_connection, "w1", [Settlement(running.id, running.epoch, "completed")]
    )  # and the worker dies before it wakes
    assert statuses(first, second) == ["completed", "waiting"]
    assert eventually(lambda: [row["id"] for row in sweep_lines()[0]]) == [second]
