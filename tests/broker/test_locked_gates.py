"""While the row of a gate is locked, workers start, run other tasks and settle them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import pytest

import actors  # noqa: F401
import tests.support.testactors  # noqa: F401
from state import NewTask, Task, get_task, submit, submit_many
from state.gates.reads import get_gate
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
LOCKS = {
    "an open update": "UPDATE callboard.gates SET paused = paused WHERE key = %s",
    "an uncommitted insert": "INSERT INTO callboard.gates (key, max_concurrent) VALUES (%s, 20)",
}


@pytest.fixture(params=["directly", "through PgBouncer"], autouse=True)
def way(request: pytest.FixtureRequest) -> None:
    if request.param == "through PgBouncer":
        request.getfixturevalue("pgbouncer")


@pytest.fixture
def lock(database_url: str) -> "Lock":
    @contextmanager
    def lock(how: str, key: str) -> Iterator[None]:
        with psycopg.connect(database_url, application_name="holder") as holder:
            if how == "an open update":
                holder.execute(
                    "INSERT INTO callboard.gates (key, max_concurrent) VALUES (%s, 20) ON CONFLICT DO NOTHING", [key]
                )
                holder.commit()
            holder.execute(LOCKS[how], [key])
            yield
            holder.rollback()

    return lock


Lock = Callable[[str, str], AbstractContextManager[None]]


@contextmanager
def service() -> Iterator[str]:
    """A server that answers 429 to all requests."""

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(429)
            self.send_header("Retry-After", "3000")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def ended(task_id: str) -> Task:
    return eventually(lambda: (task := get_task(task_id)).finished and task)


@pytest.mark.parametrize("how", LOCKS)
def test_a_worker_boots_and_runs_what_does_not_need_the_gate(worker: Start, lock: Lock, how: str) -> None:
    """The actors of the worker declare the gate when it starts."""
    behind = [NewTask("flaky", {"text": "http://127.0.0.1:9/"}) for _ in range(30)]
    with lock(how, "provider:flaky"):
        ids = submit_many(behind)
        worker(threads=2)
        for _ in range(3):
            assert ended(submit("note", {}).task_id).status == "completed"
        assert {get_task(each).attempt for each in ids} == {0}
    eventually(lambda: all(get_task(each).attempt > 0 for each in ids[:2]))  # free again, without anybody's help
    eventually(lambda: get_gate("provider:flaky")["declared_concurrent"] == 20, what="the gate is declared")


def test_a_429_does_not_keep_other_tasks_from_ending(worker: Start, lock: Lock, tmp_path: Path) -> None:
    """The service asks to wait, and the gate that should be closed for it is locked."""
    flag = tmp_path / "go"
    with service() as url:
        worker(threads=2)
        eventually(lambda: get_gate("provider:flaky"))
        waits = submit("flaky_later", {"text": url, "file": str(flag)}).task_id
        eventually(lambda: get_task(waits).status == "running")
        with lock("an open update", "provider:flaky"):
            flag.touch()
            eventually(lambda: get_task(waits).status == "scheduled")
            for _ in range(3):
                assert ended(submit("note", {}).task_id).status == "completed"
        eventually(lambda: get_gate("provider:flaky")["closed_until"] is not None)
