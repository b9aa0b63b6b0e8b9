"""What every request passes, the server's start and its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from state.tasks.reads import get_task
from taskapi.entrance import is_local
from tests.support.eventually import eventually
from tests.taskapi.conftest import problem
from tests.taskapi.following import follow
from tests.taskapi.running import RunningServer

ROOT = Path(__file__).parents[2]


def test_only_local_names_are_local() -> None:
    local = ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:8000", "[::1]", "[::1]:8000", "testserver"]
    assert [name for name in local if not is_local(name)] == []
    foreign = [
        "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "0.0.0.0", "[::]", "", "[::1",
        "localhost:", "evil@localhost", "localhost/..", "localhost:80:80", "127.0.0.1\\@example.com", "2130706433",
    ]  # fmt: skip
    assert [name for name in foreign if is_local(name)] == []


def test_a_name_that_somebody_points_here_is_refused(client: httpx2.Client) -> None:
    for path in ("/", "/api/v1/tasks", "/livez", "/nothing"):
        problem(client.get(path, headers={"Host": "rebound.example.com"}), 421, "misdirected-request")
    assert client.get("/livez", headers={"Host": "localhost:1"}).status_code == 200


def test_pages_of_other_sites_cannot_submit(client: httpx2.Client, rows: Callable[[], dict[str, int]]) -> None:
    body = {"actor": "anything", "payload": {}}
    for origin in ("https://example.com", "null", "http://localhost.example.com"):
        problem(client.post("/api/v1/tasks", json=body, headers={"Origin": origin}), 403, "foreign-origin")
        assert client.get("/api/v1/tasks", headers={"Origin": origin}).status_code == 200
    assert rows()["tasks"] == 0
    for origin in ("http://localhost:3000", "http://127.0.0.1:8000", "http://[::1]"):
        assert client.post("/api/v1/tasks", json=body, headers={"Origin": origin}).status_code == 202


def test_what_nobody_expected_is_told_without_its_insides(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(request: Request) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("taskapi.tasks.task_id_of", fail)
    document = problem(server.client.get(f"/api/v1/tasks/tq_{'0' * 32}"), 500, "internal-error")
    assert "swordfish" not in str(document)
    assert "swordfish" in capfd.readouterr().err
    assert server.client.get("/livez").status_code == 200


def test_openapi_describes_what_is_there(client: httpx2.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    paths = document["paths"]
    assert set(paths["/api/v1/tasks"]) == {"get", "post"}
    assert {"/api/task", "/api/task/{task_id}", "/api/task/{task_id}/stream", "/health"} <= set(paths)
    assert set(paths["/api/v1/tasks"]["post"]["responses"]) >= {"202", "400", "404", "409", "413", "422", "503"}
    filters = {each["name"] for each in paths["/api/v1/tasks"]["get"]["parameters"]}
    assert filters == {
        "status", "actor", "queue", "lane", "workflow_run_id", "tenant", "target", "error_type", "limit", "cursor",
    }  # fmt: skip
    schemas = document["components"]["schemas"]
    assert "last_event" not in schemas["TaskView"]["properties"]
    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in schemas, reference
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()
    assert set(task) == set(schemas["AcceptedTask"]["properties"])
    assert set(schemas["AcceptedTask"]["required"]) <= set(task)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == "$ref")
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from references(child)


def test_the_first_page(client: httpx2.Client) -> None:
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "/openapi.json" in page.text
    assert f"{client.base_url}/api/v1/tasks" in page.text
    assert client.head("/").status_code == 200


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server as people start it."""
    log = (tmp_path / "server.log").open("w+")
    command = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--port", "0"]
    started = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=os.environ, stdout=log, stderr=log)

    def address() -> str | None:
        assert started.poll() is None, Path(log.name).read_text()
        text = Path(log.name).read_text()
        return text.partition("running on ")[2].partition(" ")[0] or None

    try:
        yield started, eventually(address, what="it says where it is")
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
            began = time.monotonic()
            server.send_signal(number)
            assert [list(first), list(second)] == [[], []]
            server.wait(10)
            assert time.monotonic() - began < 5
    assert server.returncode in (0, -number)
    log = (tmp_path / "server.log").read_text()
    assert "Application shutdown complete" in log
    assert "ERROR" not in log
    assert "Traceback" not in log
    assert get_task(task["task_id"]).status == "queued"
