"""The breaker of a gate: an outage opens it, one probe at a time tries for all."""

from collections.abc import Callable

import pytest

from state import NewTask, cancel, get_task, submit_many
from state.database import Connection
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines, wake
from state.maintenance.sweep import sweep
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import failed, finish, many
from tests.support.clock import Clock

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def open_breaker(worker_connection: Connection, take: Take) -> None:
    declare([Gate("p", 20, breaker=True)])
    submit_many([NewTask("gated", {"gates": {"p": 20}}, max_attempts=1) for _ in range(10)])
    for task in take(10):
        failed(worker_connection, task)


def test_the_breaker_opens_probes_once_and_closes(worker_connection: Connection, take: Take, clock: Clock) -> None:
    open_breaker(worker_connection, take)
    ids = many(5, p=20)
    assert take(10) == []
    assert get_gate("p")["breaker_state"] == "open"
    assert all(get_task(each).attempt == 0 for each in ids)

    clock.advance(61)
    sweep_lines()
    [probe] = take(10)
    assert take(10, worker="w2") == []
    failed(worker_connection, probe)
    assert get_task(probe.id).attempt == 0  # the probe's failure costs no attempt
    sweep_lines()
    assert take(10) == []
    assert get_gate("p")["breaker_state"] == "open"

    clock.advance(61)
    sweep()
    sweep_lines()
    [probe] = take(10)
    finish(worker_connection, probe)
    assert get_gate("p")["breaker_state"] == "closed"
    sweep_lines()
    assert len(take(10)) == 4


def test_a_probe_without_a_result_lets_the_next_one_start(
    worker_connection: Connection, take: Take, clock: Clock
) -> None:
    open_breaker(worker_connection, take)
    ids = many(3, p=20)
    take(10)
    clock.advance(61)
    sweep_lines()
    [probe] = take(10)
    cancel(probe.id)
    rows = leases.settle(worker_connection, "w1", [Settlement(probe.id, probe.epoch, "released")])
    wake(rows[0]["gates"])
    [second] = take(10)
    sweep(["w1"])  # its worker dies
    sweep_lines()
    assert len(take(10)) == 1
    assert second.id in ids


def test_errors_of_the_task_itself_do_not_open_it(worker_connection: Connection, take: Take) -> None:
    declare([Gate("p", 20, breaker=True)])
    many(12, p=20)
    for task in take(12):
        failed(worker_connection, task, error_type="InvalidInput")
    many(1, p=20)
    assert len(take(10)) == 1
