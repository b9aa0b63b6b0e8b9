"""The guards before the real application, without any API key."""

import json
from collections.abc import Iterator

import httpx2
import pytest
from starlette.requests import Request

from state.settings import get_settings
from taskapi.app import OPERATIONS
from tests.guard.test_browser import UNSAFE
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

TASK = {"actor": "anything", "payload": {}}
COMMAND = {
    "actor": "agent",
    "payload": {"agent_name": "command", "task_type": "run", "input": {"command": ["true"]}},
}


@pytest.fixture
def server(actors: None) -> Iterator[RunningServer]:
    with RunningServer() as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> httpx2.Client:
    return server.client


def count_tasks(connection: Observer) -> int:
    count: int = connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks")["n"]
    return count


def test_every_operation_is_guarded(client: httpx2.Client) -> None:
    for operation in OPERATIONS:
        path = operation.path.replace("{", "").replace("}", "").replace(":path", "")
        rebound = client.request(operation.method, path, headers={"Host": "rebound.example.com"})
        forwarded = client.request(operation.method, path, headers={"X-Forwarded-For": "127.0.0.1"})
        if path == "/livez":  # says nothing, to anybody
            assert rebound.json() == forwarded.json() == {"status": "alive"}
        else:
            expect_problem(rebound, 421, "misdirected-request")
            expect_problem(forwarded, 403, "local-only")
        foreign = client.request(operation.method, path, headers={"Sec-Fetch-Site": "same-site"})
        expect_problem(foreign, 403, "foreign-origin")
        if operation.method in UNSAFE:
            form = client.request(operation.method, path, content=b"a=b", headers={"Content-Type": "text/plain"})
            expect_problem(form, 415, "unsupported-media-type")


def test_pages_of_other_origins_cannot_submit(client: httpx2.Client, connection: Observer) -> None:
    for origin in ("https://example.com", "null", "http://localhost:3000", "tauri://localhost", "http://127.0.0.1"):
        refused = client.post("/api/v1/tasks", json=TASK, headers={"Origin": origin})
        expect_problem(refused, 403, "foreign-origin")
    assert count_tasks(connection) == 0
    own = str(client.base_url).rstrip("/")
    assert client.post("/api/v1/tasks", json=TASK, headers={"Origin": own}).status_code == 202


def test_commands_are_off_unless_they_are_allowed(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = expect_problem(client.post("/api/v1/tasks", json=COMMAND), 403, "forbidden")
    assert "CALLBOARD_COMMANDS=1" in refused["detail"]
    monkeypatch.setenv("CALLBOARD_COMMANDS", "1")
    get_settings.cache_clear()
    assert client.post("/api/v1/tasks", json=COMMAND).status_code == 202


def test_log_lines_of_verbs_name_the_request(client: httpx2.Client, capfd: pytest.CaptureFixture[str]) -> None:
    """A verb runs in a thread of its own."""
    task = client.post("/api/v1/tasks", json=TASK, headers={"X-Request-ID": "order-7"}).json()
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    [accepted] = [line for line in lines if line.get("task_id") == task["task_id"]]
    assert (accepted["to"], accepted["request_id"]) == ("queued", "order-7")


def test_an_unexpected_failure_is_answered_without_its_text(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(request: Request) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("taskapi.resources.tasks.parse_task_id", fail)
    document = expect_problem(server.client.get(f"/api/v1/tasks/tq_{'0' * 32}"), 500, "internal-error")
    assert "swordfish" not in str(document)
    assert "swordfish" in capfd.readouterr().err
    assert server.client.get("/livez").status_code == 200
