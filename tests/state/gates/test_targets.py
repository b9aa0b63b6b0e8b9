"""Targets: one task at a time, whatever commits when, and the next one is found however long the line is."""

from collections.abc import Callable

import pytest

from state import NewTask, cancel, get_task, pause, retry, submit, submit_many
from state.database import Connection, connect
from state.gates.declarations import make_target_gate
from state.gates.operations import put_gate
from state.gates.waking import sweep_lines
from state.workers.leases import Claimed, Settlement, settle
from tests.state.gated import finish, statuses
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


def test_an_older_task_that_commits_later_waits_for_the_one_that_runs(
    worker_connection: Connection, take: Take
) -> None:
    with connect("slow") as slow, slow.transaction():
        older = submit("quick", {}, target="t", conn=slow).task_id
        newer = submit("quick", {}, target="t").task_id
        [running] = take(10)
        assert running.id == newer
    last = submit("quick", {}, target="t").task_id
    assert take(10) == []
    assert statuses(older, last) == ["waiting", "waiting"]
    finish(worker_connection, running)
    assert [task.id for task in take(10)] == [older]
    assert statuses(last) == ["waiting"]


def test_both_become_visible_in_one_claim(worker_connection: Connection, take: Take) -> None:
    """The newer one has the better priority, so a claim that takes both would try it first."""
    older = submit("quick", {}, target="t", priority=3).task_id
    newer = submit("quick", {}, target="t", priority=0).task_id
    assert [task.id for task in take(10)] == [older]
    assert statuses(newer) == ["waiting"]


def test_the_reason_says_for_whom_a_task_waits_now(worker_connection: Connection, take: Take) -> None:
    first, second = (submit("quick", {}, target="t").task_id for _ in range(2))

    def read_reason() -> str:
        waiting = get_task(second).waiting
        assert waiting is not None
        return str(waiting["reason"])

    [running] = take(10)
    assert read_reason() == "another task of this target is running"
    settle(worker_connection, "w1", [Settlement(running.id, running.epoch, "failed", error={"type": "Broken"})])
    assert statuses(first, second) == ["dead", "waiting"]
    assert read_reason() == "an earlier task of this target is dead"
    retry(first)
    assert read_reason() == "an earlier task of this target is unfinished"
    pause(first)
    assert read_reason() == "an earlier task of this target is paused"


def test_tenant_and_target_make_different_gates() -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), (None, "a/b/c"), ("a%2Fb", "c"), ("", "a/b/c"), ("a%", "2Fb/c")]
    keys = {make_target_gate(tenant, target).key for tenant, target in pairs}
    assert len(keys) == len(pairs) - 1  # no tenant, and one without a name


def test_targets_of_tenants_with_slashes_run_beside_each_other(take: Take) -> None:
    submit("quick", {}, tenant="a", target="b/c")
    submit("quick", {}, tenant="a/b", target="c")
    assert len(take(10)) == 2


def test_waking_a_long_line_reads_only_its_head(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    submit_many([NewTask("quick", {}, target="t") for _ in range(3000)])
    assert len(take(1)) == 1
    assert take(1) == []
    reads = "SELECT idx_tup_fetch AS n FROM pg_stat_user_tables WHERE relid = 'callboard.tasks'::regclass"
    for session in (worker_connection, connection):
        session.execute("SELECT pg_stat_force_next_flush()")
    before = connection.execute(reads).fetchone()
    for _ in range(20):
        assert worker_connection.fetch("wake_gate", {"gate": "target:/t"}) == []
    worker_connection.execute("SELECT pg_stat_force_next_flush()")
    after = connection.execute(reads).fetchone()
    assert before is not None
    assert after is not None
    assert after["n"] - before["n"] < 20 * 50


def test_a_paused_target_is_not_woken(worker_connection: Connection, take: Take) -> None:
    first, second = (submit("quick", {}, target="t").task_id for _ in range(2))
    [running] = take(10)
    put_gate("target:/t", paused=True)
    finish(worker_connection, running)
    assert statuses(first, second) == ["completed", "waiting"]
    put_gate("target:/t", paused=False)
    assert statuses(second) == ["queued"]


def test_ten_thousand_targets_do_not_keep_other_lines_from_being_repaired(connection: Observer, take: Take) -> None:
    submit_many([NewTask("quick", {}, target=f"t{n}") for n in range(2)])
    put_gate("tenant:x", max_concurrent=0)
    lost = submit("quick", {}, tenant="x").task_id
    take(10)
    assert statuses(lost) == ["waiting"]
    connection.execute(
        "INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, target, gates, "
        "waiting_gate, available_at, created_at, updated_at) "
        "SELECT 'tq_x' || n, 'quick', 'one', 'waiting', 2, n, '{}', 1, 't0', ARRAY['target:/t' || n], "
        "'target:/t' || n, now(), now(), now() FROM generate_series(10, 10010) AS n"
    )
    connection.execute("UPDATE callboard.gates SET max_concurrent = NULL WHERE key = 'tenant:x'")
    after, turns = "", 0
    while statuses(lost) == ["waiting"]:
        _, after = sweep_lines(after, 2000)
        turns += 1
    assert turns <= 6
    for _ in range(6):
        _, after = sweep_lines(after, 2000)
        if after == "":
            break
    assert after == ""  # it comes around


@pytest.mark.parametrize("how", ["finished", "canceled"])
def test_the_next_task_starts_when_the_first_is_finished(worker_connection: Connection, take: Take, how: str) -> None:
    first, second, third = (submit("quick", {}, target="t").task_id for _ in range(3))
    [running] = take(10)
    if how == "finished":
        finish(worker_connection, running)
    else:
        cancel(second)
        finish(worker_connection, running)
    expected = second if how == "finished" else third
    assert [task.id for task in take(10)] == [expected]
    assert statuses(first) == ["completed"]
