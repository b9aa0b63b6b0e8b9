"""What is known of a gate: its use over time, who holds it, who waits, what was changed, when the next one starts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from state import NewTask, submit, submit_many
from state.access.caller import Caller
from state.database import Connection
from state.errors import GateNotFound
from state.gates import Gate, Rate
from state.gates.declarations import declare
from state.gates.operations import put_gate, reset_gate
from state.gates.reads import LinePlace, get_gate, list_changes, list_gates, list_holders, list_samples, list_waiters
from state.gates.sampling import sample_gates
from state.workers.leases import Claimed
from tests.state.gated import failed, finish, gated_task, many
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def uses(gate: str) -> list[tuple[int, int, int | None]]:
    return [(row["running"], row["waiting"], row["max_concurrent"]) for row in list_samples(gate)]


def changes(gate: str | None = None) -> list[tuple[str, str | None, dict[str, Any]]]:
    return [(row["origin"], row["by"], row["changes"]) for row in list_changes(gate)]


def test_samples_of_gates_that_are_in_use(worker_connection: Connection, take: Take, clock: Clock) -> None:
    declare([Gate("idle", 1)])
    many(5, p=2)
    first, second = take(10)
    sample_gates()
    assert uses("p") == [(2, 3, 2)]
    clock.advance(10)
    put_gate("p", max_concurrent=4)
    started = take(10)
    sample_gates()
    assert uses("p") == [(2, 3, 2), (4, 1, 4)]
    finish(worker_connection, first, second, *started)
    [last] = take(10)
    finish(worker_connection, last)
    for _ in range(4):
        clock.advance(10)
        sample_gates()
    assert uses("p")[2:] == [(0, 0, 4)]  # one when it has come to rest, and no more
    assert uses("idle") == []


def test_samples_say_what_closes_a_gate(take: Take, clock: Clock) -> None:
    declare([Gate("p", 2)])
    many(1, p=2)
    put_gate("p", paused=True)
    assert take(10) == []
    sample_gates()
    assert [row["closed_by"] for row in list_samples("p")] == ["paused"]


def test_samples_are_kept_for_an_hour(take: Take, clock: Clock, connection: Observer) -> None:
    many(1, p=2)
    take(1)
    sample_gates()
    [sample] = list_samples("p")
    assert list_samples("p", since=sample["at"]) == []
    assert len(list_samples("p", since=sample["at"] - timedelta(seconds=1))) == 1
    clock.advance(4500)
    assert list_samples("p") == []
    sample_gates()
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.gate_samples")["n"] == 1


def test_of_many_gates_those_with_the_most_use_are_sampled(take: Take, connection: Observer) -> None:
    submit_many([NewTask("gated", {"gates": {f"g{n}": 1, "all": 9}}) for n in range(9)])
    submit_many([NewTask("quick", {}, target=f"t{n}") for n in range(9)])
    assert len(take(18)) == 18
    connection.execute("SELECT callboard.sample_gates(10)")
    rows = connection.execute("SELECT gate FROM callboard.gate_samples").fetchall()
    assert {row["gate"] for row in rows} == {"all", *(f"g{n}" for n in range(9))}


def test_the_trend_has_a_number_for_each_minute(take: Take, clock: Clock) -> None:
    many(2, p=5)
    take(2)
    sample_gates()
    clock.advance(30 * 60 + 5)
    [gate] = list_gates(trend=True)
    assert len(gate["trend"]) == 60
    assert gate["trend"].count(2) == 1
    assert gate["trend"].index(2) in (28, 29)
    assert get_gate("p")["trend"] is None


def test_holders_and_waiters(take: Take, connection: Observer) -> None:
    ids = many(5, p=2)
    urgent = gated_task(priority=1, p=2)
    started = take(10)
    held = list_holders("p")
    assert sorted(row["task_id"] for row in held) == sorted(task.id for task in started)
    assert {row["worker_id"] for row in held} == {"w1"}
    assert list_holders("p", limit=1, after=held[0]["task_id"]) == held[1:]
    line = list_waiters("p")
    waiting = [each for each in [urgent, *ids] if each not in {row["task_id"] for row in held}]
    assert [(row["position"], row["task_id"]) for row in line] == list(enumerate(waiting, 1))
    first = LinePlace(1, line[0]["priority"], line[0]["rank"], line[0]["task_id"])
    assert [row["position"] for row in list_waiters("p", after=first, limit=2)] == [2, 3]
    connection.execute("INSERT INTO callboard.actor_pace VALUES ('gated', 30, now())")
    assert [row["eta_seconds"] for row in list_waiters("p")] == [30, 30, 60, 60]


def test_who_has_changed_what(worker_connection: Connection, take: Take) -> None:
    declare([Gate("p", 3)])
    assert changes("p") == []  # a new gate has not changed
    put_gate("p", max_concurrent=5, paused=True, caller=Caller("operator", name="ann"))
    put_gate("p", max_concurrent=5)
    declare([Gate("p", 4)])
    declare([Gate("p", 4)])
    put_gate("tenant:t", paused=True)
    assert changes("p") == [
        ("code", None, {"declared_concurrent": [3, 4]}),
        ("operator", "ann", {"paused": [False, True], "max_concurrent": [3, 5]}),
    ]
    [newest, *older] = list_changes()
    assert newest["gate"] == "tenant:t"
    assert list_changes(before=newest["id"]) == older


def test_a_breaker_that_opens_is_a_change(worker_connection: Connection, take: Take, clock: Clock) -> None:
    declare([Gate("p", 20, breaker=True)])
    submit_many([NewTask("gated", {"gates": {"p": 20}}, max_attempts=1) for _ in range(10)])
    for task in take(10):
        failed(worker_connection, task)
    many(1, p=20)
    assert take(1) == []
    gate = get_gate("p")
    assert (gate["state"], gate["next_at"] - gate["breaker_changed_at"]) == ("breaker_open", timedelta(seconds=60))
    clock.advance(61)
    put_gate("p")
    [probe] = take(1)
    assert get_gate("p")["state"] == "breaker_half_open"
    finish(worker_connection, probe)
    many(1, p=20)
    take(1)
    assert [change[2]["breaker_state"] for change in changes("p")] == [["half_open", "closed"], ["closed", "open"]]


def test_a_reset_gives_back_what_the_code_declares() -> None:
    declare([Gate("p", 3, breaker=True, rate=Rate(5, 60))])
    before = get_gate("p")
    put_gate("p", max_concurrent=9, rate_count=1, rate_seconds=1, breaker_threshold=0.9, breaker_volume=3)
    put_gate("p", paused=True)
    assert reset_gate("p") == {**before, "paused": True, "state": "paused"}
    declare([Gate("p", 4, breaker=True, rate=Rate(6, 60))])
    after = get_gate("p")
    assert (after["max_concurrent"], after["rate_count"]) == (4, 6)  # follows the code again
    put_gate("tenant:t", max_concurrent=1, breaker_threshold=0.5, rate_count=1, rate_seconds=1)
    plain = reset_gate("tenant:t")
    assert (plain["max_concurrent"], plain["breaker_threshold"], plain["rate_count"]) == (None, None, None)
    with pytest.raises(GateNotFound):
        reset_gate("nobody")


def test_when_the_next_one_starts(take: Take, connection: Observer, worker_connection: Connection) -> None:
    declare([Gate("p", 2, rate=Rate(3, 60))])
    assert (get_gate("p")["state"], get_gate("p")["rate_left"], get_gate("p")["rate_next_at"]) == ("open", 3, None)
    connection.execute("INSERT INTO callboard.actor_pace VALUES ('gated', 30, now())")
    many(4, p=2)
    first, second = take(10)
    started = connection.fetch_one("SELECT min(started_at) AS at FROM callboard.leases")["at"]
    gate = get_gate("p")
    assert (gate["state"], gate["next_at"], gate["rate_left"]) == ("full", started + timedelta(seconds=30), 1)
    put_gate("p", max_concurrent=0)
    assert (get_gate("p")["state"], get_gate("p")["next_at"]) == ("full", None)
    put_gate("p", max_concurrent=2)
    finish(worker_connection, first, second)
    [third] = take(10)
    finish(worker_connection, third)
    gate = get_gate("p")
    assert (gate["state"], gate["rate_left"]) == ("rate", 0)
    assert gate["next_at"] == gate["rate_next_at"]
    assert timedelta(seconds=59) < gate["next_at"] - started <= timedelta(seconds=61)


def test_gates_without_settings_are_shown_while_they_hold_tasks_back(take: Take, worker_connection: Connection) -> None:
    for _ in range(2):
        submit("quick", {}, target="car")
    [running] = take(10)
    gate = get_gate("target:/car")
    assert (gate["has_settings"], gate["running"], gate["waiting"], gate["state"]) == (False, 1, 1, "full")
    assert [row["key"] for row in list_gates()] == ["target:/car"]
    finish(worker_connection, running)
    [running] = take(10)
    assert list_gates() == []  # it holds nothing back
    assert get_gate("target:/car")["running"] == 1
    finish(worker_connection, running)
    with pytest.raises(GateNotFound):
        get_gate("target:/car")


def test_the_list_by_parts_of_keys_and_by_use(take: Take) -> None:
    declare([Gate(key, 1) for key in ("a", "busy", "closed", "z%_")])
    put_gate("closed", paused=True)
    gated_task(busy=1)
    submit_many([NewTask("quick", {}, target="x") for _ in range(2)])
    assert len(take(10)) == 2

    def keys(**wanted: Any) -> list[str]:
        return [row["key"] for row in list_gates(**wanted)]

    assert keys() == ["a", "busy", "closed", "target:/x", "z%_"]
    assert keys(busy=True) == ["busy", "closed", "target:/x"]
    assert keys(busy=False) == ["a", "z%_"]
    assert keys(q="US") == ["busy"]
    assert keys(q="%") == ["z%_"]
    assert keys(q="GET:/X") == ["target:/x"]
    assert keys(busy=True, limit=2) == ["busy", "closed"]
    assert keys(busy=True, limit=2, after="closed") == ["target:/x"]


def test_ten_thousand_gates_cost_a_page_and_the_maintainer_little(take: Take, connection: Observer) -> None:
    connection.execute(
        "INSERT INTO callboard.gates (key, max_concurrent) SELECT 'k' || n, 1 FROM generate_series(1, 10000) n"
    )
    connection.execute("ANALYZE callboard.gates")
    many(3, k77=1)
    take(3)

    def look(query: str) -> int:
        """Returns how many blocks a query touches."""
        plan = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")["QUERY PLAN"][0]["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    look("SELECT callboard.sample_gates(500)")  # reads the catalog as well
    assert look("SELECT callboard.sample_gates(500)") < 100
    assert uses("k77") == [(1, 2, 1), (1, 2, 1)]
    assert [row["key"] for row in list_gates(busy=True)] == ["k77"]
    assert len(list_gates(limit=100)) == 100
