"""The middleware of all requests."""

from collections.abc import Callable

import httpx2
import pytest
from starlette.requests import Request

from taskapi.guard.network import is_local_name as is_local
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer


def test_only_local_names_are_local() -> None:
    local = ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:8000", "[::1]", "[::1]:8000", "testserver"]
    assert [name for name in local if not is_local(name)] == []
    foreign = [
        "example.com", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "0.0.0.0", "[::]", "", "[::1",
        "localhost:", "evil@localhost", "localhost/..", "localhost:80:80", "127.0.0.1\\@example.com", "2130706433",
    ]  # fmt: skip
    assert [name for name in foreign if is_local(name)] == []


def test_a_foreign_host_name_is_refused(client: httpx2.Client) -> None:
    for path in ("/", "/api/v1/tasks", "/livez", "/nothing"):
        expect_problem(client.get(path, headers={"Host": "rebound.example.com"}), 421, "misdirected-request")
    assert client.get("/livez", headers={"Host": "localhost:1"}).status_code == 200


def test_pages_of_other_sites_cannot_submit(client: httpx2.Client, rows: Callable[[], dict[str, int]]) -> None:
    body = {"actor": "anything", "payload": {}}
    for origin in ("https://example.com", "null", "http://localhost.example.com"):
        expect_problem(client.post("/api/v1/tasks", json=body, headers={"Origin": origin}), 403, "foreign-origin")
        assert client.get("/api/v1/tasks", headers={"Origin": origin}).status_code == 200
    assert rows()["tasks"] == 0
    for origin in ("http://localhost:3000", "http://127.0.0.1:8000", "http://[::1]"):
        assert client.post("/api/v1/tasks", json=body, headers={"Origin": origin}).status_code == 202


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
