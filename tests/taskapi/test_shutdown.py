"""The end of a server that has open streams."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from state.tasks.reads import get_task
from tests.support.eventually import eventually
from tests.support.following import follow
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem

ROOT = Path(__file__).parents[2]


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server that was started from the command line."""
    log = (tmp_path / "server.log").open("w+")
    command = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--port", "0",
               "--timeout-graceful-shutdown", "1"]  # fmt: skip
    started = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=os.environ, stdout=log, stderr=log)

    def address() -> str | None:
        assert started.poll() is None, Path(log.name).read_text()
        text = Path(log.name).read_text()
        return text.partition("running on ")[2].partition(" ")[0] or None

    try:
        yield started, eventually(address, what="the server prints its address")
    finally:
        started.kill()
        started.wait(10)
        log.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_with_open_streams_stops_at_once(
    process: tuple[subprocess.Popen[bytes], str], number: int, tmp_path: Path
) -> None:
    server, url = process
    with httpx2.Client(base_url=url, timeout=20, trust_env=False) as client:
        task = client.post("/api/v1/tasks/summarize", json={"content": "One. Two."}).json()
        with follow(client, task["links"]["stream"]) as first, follow(client, task["links"]["stream"]) as second:
            for sent in (first, second):
                assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
            server.send_signal(number)
            assert [list(first), list(second)] == [[], []]
            server.wait(10)  # less than the time between two comments of a quiet stream
    assert server.returncode in (0, -number)
    log = (tmp_path / "server.log").read_text()
    assert "Application shutdown complete" in log
    assert "ERROR" not in log
    assert "Traceback" not in log
    assert get_task(task["task_id"]).status == "queued"


def test_a_request_that_the_end_cuts_off_can_be_sent_again(
    process: tuple[subprocess.Popen[bytes], str], database_url: str, connection: Observer
) -> None:
    """Not 500, which clients take for final."""
    server, url = process
    answers: list[httpx2.Response] = []

    def submit() -> None:
        with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
            answers.append(client.post("/api/v1/tasks/summarize", json={"content": "One. Two."}))

    sender = threading.Thread(target=submit)
    with psycopg.connect(database_url) as holder:
        holder.execute("LOCK TABLE callboard.tasks IN ACCESS EXCLUSIVE MODE")
        sender.start()
        waits = (
            "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        eventually(lambda: connection.fetch_one(waits)["n"], what="the submit waits for the lock")
        server.send_signal(signal.SIGTERM)
        sender.join(30)
    [answer] = answers
    assert expect_problem(answer, 503, "shutting-down")["detail"]
    assert answer.headers["retry-after"] == "1"
    server.wait(20)
