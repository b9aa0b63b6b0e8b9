"""What Prometheus reads from a server and from worker processes."""

import asyncio
import re
import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import actors as _actors  # noqa: F401  (sets the broker)
from broker.metrics.server import CONNECTIONS, MetricsServer
from broker.metrics.waits import Waits
from state import cancel, submit
from state.database import Connection
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.settings import get_settings
from state.workers.leases import Claimed
from taskapi.resources import prometheus
from taskapi.streams.feed import Pace
from tests.support import testactors  # noqa: F401  (declares the actors)
from tests.support.builders import TaskBuilder
from tests.support.eventually import eventually
from tests.support.following import wait_for_status, wait_until_finished
from tests.support.ports import find_free_port
from tests.support.workers import WorkerTree
from tests.taskapi.running import RunningServer

Start = Callable[..., WorkerTree]
Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Values:
    """Returns the value of each series."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def get(values: Values, name: str, **labels: str) -> float | None:
    return values.get((name, tuple(sorted(labels.items()))))


def test_each_worker_process_serves_what_it_has_measured(worker: Start, database_url: str) -> None:
    port = find_free_port()
    tree = worker(processes=2, metrics_port=port, pulse_seconds=0.2)
    ports = re.findall(r'"port": (\d+), "event": "metrics"', tree.log.read_text())
    assert len(set(ports)) == 2

    def read_all() -> dict[str, float]:
        """Adds up what the two processes say."""
        total: dict[str, float] = {}
        for each in ports:
            text = httpx2.get(f"http://127.0.0.1:{each}/metrics", trust_env=False).text
            for (name, labels), value in read(text).items():
                key = f"{name}{dict(labels)}"
                total[key] = total.get(key, 0) + value
        return total

    for _ in range(20):
        wait_until_finished(submit("noop", {}).task_id)
    failing = submit("fail", {}).task_id
    wait_for_status(failing, "scheduled")
    cancel(failing)
    noop, fail = "{'actor': 'noop'", "{'actor': 'fail'"
    eventually(lambda: read_all().get(f"callboard_task_wait_seconds_count{noop}, 'queue': 'test'}}") == 20)
    found = read_all()
    assert found[f"callboard_task_run_seconds_count{noop}}}"] == 20
    assert found[f"callboard_attempts_total{noop}, 'error_type': '', 'outcome': 'completed'}}"] == 20
    assert found[f"callboard_attempts_total{fail}, 'error_type': 'RuntimeError', 'outcome': 'failed'}}"] == 1
    assert found["callboard_settle_batch_size_count{}"] >= 2
    assert found["callboard_pulse_delay_seconds_count{}"] >= 2
    assert found["callboard_worker_threads{}"] == 8
    assert found["callboard_worker_running{}"] == 0
    assert found["callboard_worker_coroutines{}"] == 200
    assert found["callboard_worker_coroutines_running{}"] == 0


def test_nothing_is_measured_unless_it_is_asked_for(worker_connection: Connection) -> None:
    assert get_settings().metrics_port is None
    waits = Waits()
    waits.add([Claimed("tq_1", 1, "a", "q", "primary", 1, 0, 1, {}, {}, 0, 0, None, [])])  # type: ignore[arg-type]
    assert list(waits._claimed) == []


def test_the_server_measures_the_system_and_its_own_requests(actors: None, make_task: TaskBuilder) -> None:
    make_task("queued")
    make_task("dead", error_type="ServerError")
    declare([Gate("provider:p", 3, breaker=True)])
    put_gate("tenant:secret-customer", max_concurrent=1)
    declare([Gate("webhook:secret-customer/any.name.example", 2, breaker=True), Gate("webhooks:secret-customer", 8)])
    task_id = make_task("paused").task_id
    with RunningServer(Pace()) as server:
        before = read(server.client.get("/metrics").text)
        server.client.get(f"/api/v1/tasks/{task_id}")
        server.client.get("/nowhere/at/all")
        text = server.client.get("/metrics").text
    found = read(text)
    statuses = ("queued", "dead", "paused", "running")
    counts = {status: get(found, "callboard_tasks", status=status) for status in statuses}
    assert counts == {"queued": 1, "dead": 1, "paused": 1, "running": 0}
    assert get(found, "callboard_dead_letters", actor="quick", error_type="ServerError") == 1
    assert get(found, "callboard_gate_limit", gate="provider:p") == 3
    assert get(found, "callboard_breaker_state", gate="provider:p", state="closed") == 1
    assert get(found, "callboard_breaker_state", gate="provider:p", state="open") == 0
    assert get(found, "callboard_workers") == 0
    assert get(found, "callboard_sse_streams") == 0
    route = "/api/v1/tasks/{task_id}"
    for method, path, status in (("GET", route, "200"), ("", "", "404")):
        counted = partial(get, name="callboard_http_requests_total", method=method, route=path, status=status)
        assert counted(found) == (counted(before) or 0) + 1  # other tests of this process count as well
    assert task_id not in text
    assert "secret-customer" not in text


def test_scrapes_at_once_share_a_snapshot_and_later_ones_get_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    async def take(*_: object) -> int:
        await asyncio.sleep(0)
        taken.append(len(taken))
        return taken[-1]

    async def scrape() -> list[object]:
        request = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace()))
        impatient = asyncio.create_task(prometheus._take_snapshot(request))  # type: ignore[arg-type]
        patient = asyncio.create_task(prometheus._take_snapshot(request))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        impatient.cancel()
        return [await patient, await prometheus._take_snapshot(request)]  # type: ignore[arg-type]

    monkeypatch.setattr(prometheus, "run_verb", take)
    assert asyncio.run(scrape()) == [0, 1]


def test_strangers_cannot_take_all_open_files_of_a_worker() -> None:
    server = MetricsServer("127.0.0.1", 0)
    server.start()
    address = ("127.0.0.1", server.server_port)
    try:
        with ExitStack() as stack:
            for _ in range(CONNECTIONS):
                stack.enter_context(socket.create_connection(address))
            further = stack.enter_context(socket.create_connection(address, 30))
            assert further.recv(1) == b""
        eventually(lambda: _answers(f"http://127.0.0.1:{address[1]}/metrics"))  # when the silent ones have left
    finally:
        server.shutdown()
        server.server_close()


def _answers(url: str) -> bool:
    try:
        return "callboard_worker_threads" in httpx2.get(url, trust_env=False).text
    except httpx2.TransportError:
        return False
