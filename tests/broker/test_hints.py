"""The dispatcher learns of work, and of requests to stop tasks, on the connection that it claims with. Heartbeats are
so rare in these tests that only a notification can be the reason."""

from collections.abc import Callable
from pathlib import Path

import actors  # noqa: F401
import state
import tests.support.controlactors
import tests.support.testactors  # noqa: F401
from state import get_task, submit
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

RARELY = {"pulse_seconds": 100, "lease_seconds": 600}
DISPATCHERS = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'callboard dispatcher'"

Start = Callable[..., WorkerTree]


def _completes(task_id: str) -> None:
    eventually(lambda: get_task(task_id).status == "completed")


def test_a_notification_starts_a_task_long_before_the_next_heartbeat(worker: Start) -> None:
    worker(**RARELY)
    for _ in range(3):
        _completes(submit("noop", {}).task_id)


def test_a_task_submitted_while_the_connection_is_lost_is_found_afterwards(worker: Start, connection: Observer) -> None:
    worker(**RARELY)
    _completes(submit("noop", {}).task_id)
    assert connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {DISPATCHERS}").rowcount == 1
    _completes(submit("noop", {}).task_id)
    _completes(submit("noop", {}).task_id)


def test_a_dispatcher_without_a_free_thread_still_notices_a_cancel(worker: Start, tmp_path: Path) -> None:
    worker(threads=1, **RARELY)
    out = tmp_path / "out.txt"
    running = submit("pages", {"file": str(out), "value": 1000, "seconds": 0.1}).task_id
    eventually(lambda: out.exists() and "page 1" in out.read_text())
    state.cancel(running)
    eventually(lambda: get_task(running).status == "canceled")
