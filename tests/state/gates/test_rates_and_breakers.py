"""Rates and breakers are exact, follow declarations and operators, and cost no more with longer windows."""

from collections.abc import Callable
from typing import Any

import pytest

from state import NewTask, get_attempts, get_task, submit_many
from state.database import Connection
from state.errors import InvalidPayload
from state.gates import Breaker, Gate, Rate
from state.gates.declarations import declare, declare_unseen
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines
from state.maintenance.sweep import sweep
from state.settings import get_settings
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import failed, finish, gated_task, many
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def test_a_rate_frees_each_start_when_it_leaves_the_window(take: Take, clock: Clock) -> None:
    put_gate("tenant:t", rate_count=3, rate_seconds=10)
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(9)])
    assert len(take(2)) == 2
    clock.advance(6)
    assert len(take(10)) == 1
    clock.advance(5)  # the first two are out, the third is not
    sweep_lines()
    assert len(take(10)) == 2
    assert take(10) == []
    clock.advance(5)
    sweep_lines()
    assert len(take(10)) == 1


def test_a_rate_that_is_changed(take: Take, clock: Clock) -> None:
    put_gate("tenant:t", rate_count=4, rate_seconds=10)
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(20)])
    assert len(take(10)) == 4
    put_gate("tenant:t", rate_count=2)
    clock.advance(5)
    sweep_lines()
    assert take(10) == []
    put_gate("tenant:t", rate_count=6)
    assert len(take(10)) == 2
    clock.advance(11)
    sweep_lines()
    assert len(take(20)) == 6


def history(connection: Observer, count: int, failures: int = 0) -> None:
    connection.execute(
        "INSERT INTO callboard.gate_results SELECT 'p', 'tq_' || n, 1, n <= %s, "
        "callboard.now() - interval '30 seconds' FROM generate_series(1, %s) AS n",
        [failures, count],
    )
    connection.execute(
        "INSERT INTO callboard.gate_starts (gate, at, n) SELECT 'p', callboard.now() - interval '30 seconds', n "
        "FROM generate_series(1, %s) AS n",
        [count],
    )
    connection.execute("ANALYZE callboard.gate_results, callboard.gate_starts")


def rows_read(worker_connection: Connection, connection: Observer, look: Callable[[], object]) -> int:
    """Returns how many index entries of the history a claim reads."""
    reads = "SELECT sum(idx_tup_read)::bigint AS n FROM pg_stat_user_indexes WHERE relname LIKE 'gate\\_%'"
    worker_connection.execute("SELECT pg_stat_force_next_flush()")
    before = connection.execute(reads).fetchone()
    look()
    worker_connection.execute("SELECT pg_stat_force_next_flush()")
    after = connection.execute(reads).fetchone()
    assert before is not None
    assert after is not None
    return int(after["n"] - before["n"])


def test_a_healthy_gate_costs_nothing_however_much_passes_it(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    declare([Gate("p", breaker=True, rate=Rate(1_000_000, 60))])
    history(connection, 300_000)
    many(8, p=None)
    started: list[Claimed] = []
    assert rows_read(worker_connection, connection, lambda: started.extend(take(8))) < 100
    assert len(started) == 8


def test_a_failing_gate_is_judged_by_its_latest_results(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    declare([Gate("p", breaker=True)])
    history(connection, 100_000, failures=100)
    many(8, p=None)
    started: list[Claimed] = []
    assert rows_read(worker_connection, connection, lambda: started.extend(take(8))) < 3000
    assert len(started) == 8
    connection.execute(
        "INSERT INTO callboard.gate_results SELECT 'p', 'tq_' || n, 2, true, callboard.now() "
        "FROM generate_series(1, 600) AS n"
    )
    many(1, p=None)
    assert take(8) == []
    assert get_gate("p")["breaker_state"] == "open"


def test_a_probe_that_fails_on_its_last_attempt_does_not_die(
    worker_connection: Connection, take: Take, clock: Clock
) -> None:
    declare([Gate("p", 20, breaker=True)])
    submit_many([NewTask("gated", {"gates": {"p": 20}}, max_attempts=1) for _ in range(10)])
    for task in take(10):
        failed(worker_connection, task)
    last = submit_many([NewTask("gated", {"gates": {"p": 20}}, max_attempts=1, priority=0)])[0]
    many(1, p=20)  # waits behind it
    assert take(10) == []
    for _ in range(2):
        clock.advance(61)
        sweep()
        sweep_lines()
        [probe] = take(10)
        assert probe.id == last
        failed(worker_connection, probe)
        sweep_lines()
        assert (get_task(last).status, get_task(last).attempt) == ("scheduled", 0)
    assert [attempt["outcome"] for attempt in get_attempts(last)] == ["failed", "failed"]


def test_a_probe_that_fails_for_good_is_dead(worker_connection: Connection, take: Take, clock: Clock) -> None:
    declare([Gate("p", 20, breaker=True)])
    many(10, p=20)
    for task in take(10):
        failed(worker_connection, task)
    probe_id = gated_task(priority=0, p=20)
    take(10)
    clock.advance(61)
    sweep_lines()
    [probe] = take(10)
    assert probe.id == probe_id
    leases.settle(
        worker_connection, "w1", [Settlement(probe.id, probe.epoch, "failed", error={"type": "InvalidInput"})]
    )
    assert get_task(probe_id).status == "dead"


def test_a_breaker_as_declared(worker_connection: Connection, take: Take, clock: Clock) -> None:
    declare([Gate("p", 20, breaker=Breaker(threshold=1, volume=3, window=5, seconds=7))])
    gate = get_gate("p")
    assert (gate["breaker_threshold"], gate["breaker_volume"], gate["breaker_window"]) == (1, 3, 5)
    many(4, p=20)
    for task in take(3):
        failed(worker_connection, task)
    assert take(10) == []
    clock.advance(8)
    sweep_lines()
    [probe] = take(10)
    finish(worker_connection, probe)


def test_values_that_a_breaker_does_not_declare_come_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_BREAKER_VOLUME", "25")
    monkeypatch.setenv("CALLBOARD_BREAKER_SECONDS", "5")
    get_settings.cache_clear()
    declare([Gate("p", breaker=True), Gate("q", breaker=Breaker(volume=2))])
    gate, other = get_gate("p"), get_gate("q")
    assert (gate["breaker_threshold"], gate["breaker_volume"], gate["breaker_seconds"]) == (0.5, 25, 5)
    assert (other["breaker_threshold"], other["breaker_volume"], other["breaker_seconds"]) == (0.5, 2, 5)


@pytest.mark.parametrize("wrong", [lambda: Rate(0, 1), lambda: Rate(1, 0), lambda: Breaker(threshold=2)])
def test_nonsense_is_refused_where_it_is_written(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="0"):
        wrong()


def test_a_breaker_that_an_operator_removed_does_not_return(take: Take) -> None:
    said = [Gate("p", 3, breaker=True, rate=Rate(5, 10))]
    declare(said)
    put_gate("p", breaker_threshold=None)
    put_gate("p", rate_count=None, rate_seconds=None)
    for _ in range(2):
        assert declare(said) == []
        gate = get_gate("p")
        assert (gate["breaker_threshold"], gate["rate_count"], gate["max_concurrent"]) == (None, None, 3)
    declare([Gate("p", 3, breaker=Breaker(volume=99), rate=Rate(6, 10))])  # a deploy changes nothing about it
    assert (get_gate("p")["breaker_threshold"], get_gate("p")["rate_count"]) == (None, None)


def test_an_operators_breaker_stays_and_an_untouched_one_follows_the_code() -> None:
    declare([Gate("p", breaker=True, rate=Rate(5, 10)), Gate("q", breaker=True)])
    put_gate("p", breaker_volume=77)
    declare([Gate("p", breaker=Breaker(volume=20), rate=Rate(7, 10)), Gate("q", breaker=Breaker(volume=20))])
    assert (get_gate("p")["breaker_volume"], get_gate("q")["breaker_volume"]) == (77, 20)
    assert get_gate("p")["rate_count"] == 7
    declare([Gate("q")])  # another actor, which says nothing of the breaker
    assert get_gate("q")["breaker_volume"] == 20
    assert get_gate("q")["breaker_threshold"] == 0.5


def test_gates_of_several_actors_are_one() -> None:
    declare([Gate("p", 5, breaker=True), Gate("p", 3), Gate("p", rate=Rate(2, 1))])
    gate = get_gate("p")
    assert (gate["max_concurrent"], gate["breaker_threshold"], gate["rate_count"]) == (3, 0.5, 2)


def test_a_breaker_that_is_named_only_in_an_answer_is_declared_when_it_is_met(
    worker_connection: Connection, take: Take
) -> None:
    many(60, p=60)
    calls = 0
    while tasks := take(1):
        calls += 1
        declare_unseen([Gate("p", 60, breaker=True), Gate("other", 1)])
        failed(worker_connection, tasks[0])
    assert calls == 10
    assert get_gate("p")["breaker_state"] == "open"


@pytest.mark.parametrize(
    "change", [{"max_concurrent": 1}, {"rate_count": 1, "rate_seconds": 1}, {"breaker_threshold": 1}]
)
def test_a_limit_on_a_queue_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload, match="a queue can only be paused or closed") as refused:
        put_gate("queue:one", **change)
    assert refused.value.field in change
    assert put_gate("queue:one", paused=True, max_concurrent=None)["paused"]
