"""Behind nginx with TLS: streams, keys, limits, and the console below a path."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect

from state.access.keys import create_key
from state.database import connect
from state.settings import get_settings
from state.tasks import catalog
from taskapi.api.problems import PROBLEMS
from taskclient import Client
from tests.console.browser import CHROMIUM, Visit, start_chromium
from tests.console.keys import button, open_with_key
from tests.console.server import ServerProcess
from tests.deploy.nginx import BINARY, Nginx, run_nginx, trust
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree
from tests.taskapi.fake_worker import FakeWorker

pytestmark = pytest.mark.skipif(
    BINARY is None or shutil.which("openssl") is None,
    reason="there is no nginx or openssl (Debian, Ubuntu: apt install nginx-light openssl)",
)

TASK = {"actor": "note", "payload": {}}


@pytest.fixture
def server(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    monkeypatch.setenv("CALLBOARD_ACTORS", "actors,tests.support.testactors")
    get_settings.cache_clear()
    catalog.load_actors()
    with ServerProcess(tmp_path / "server.log") as running:
        yield running


@pytest.fixture
def key(database_url: str) -> str:
    return create_key("ops", "operator")[1]


@pytest.fixture
def nginx(server: ServerProcess, tmp_path: Path) -> Iterator[Nginx]:
    with run_nginx(tmp_path / "nginx", server.port) as running:
        yield running


@pytest.fixture
def fake_worker(server: ServerProcess) -> Iterator[FakeWorker]:
    with connect("fake worker") as connection:
        yield FakeWorker(connection)


def read_problem(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    status, title = PROBLEMS[document["error"]]
    assert document.keys() >= {"type", "title", "status", "detail", "error"}
    assert (response.status_code, document["status"], document["title"]) == (status, status, title)
    assert document["type"] == f"/problems/{document['error']}"
    return response.status_code, document["error"]


def test_events_arrive_as_they_are_made_and_go_on_after_a_restart(
    server: ServerProcess, nginx: Nginx, key: str, fake_worker: FakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event is made after the one before has arrived: a proxy that keeps them until the end stops the test."""
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx.certificate))
    with Client(nginx.secure, key) as client:
        task = client.submit("note", {})
        events = client.stream(task.task_id)
        assert next(events).kind == "snapshot"
        claimed = fake_worker.start("test")
        assert (next(events)).data["to"] == "running"
        for text in ("one", "two"):
            fake_worker.emit(claimed, text)
            assert next(events).data["text"] == text
        server.kill()
        for text in ("three", "four"):
            fake_worker.emit(claimed, text)
        with httpx2.Client(verify=trust(nginx.certificate), trust_env=False) as other:
            down = other.get(f"{nginx.secure}/readyz")
            assert (down.status_code, down.json()["error"], down.headers["Retry-After"]) == (
                503, "server-unreachable", "2"
            )  # fmt: skip
        server.start()
        fake_worker.complete(claimed, {"fine": True})
        rest = list(events)
    assert [event.data.get("text") for event in rest[:2]] == ["three", "four"]
    assert [event.kind for event in rest[2:]] == ["status", "done"]
    numbers = [event.n for event in rest[:-1]]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_keys_origins_and_sizes(nginx: Nginx) -> None:
    with httpx2.Client(base_url=nginx.secure, verify=trust(nginx.certificate), trust_env=False) as client:
        assert read_problem(client.get("/api/v1/tasks"))[1] in ("local-only", "misdirected-request")  # nobody has a key
        assert client.get("/livez").json() == {"status": "alive"}
        bearer = {"Authorization": f"Bearer {create_key('ops', 'operator')[1]}"}
        eventually(lambda: client.get("/readyz").status_code == 200, what="the server notices the key")
        _try_keys_and_origins(client, nginx, bearer)
        _try_sizes(client, bearer)
    moved = httpx2.get(f"{nginx.plain}/tasks?limit=1", headers={"Host": "callboard.example.com"}, trust_env=False)
    assert (moved.status_code, moved.headers["Location"]) == (308, "https://callboard.example.com/tasks?limit=1")


def _try_keys_and_origins(client: httpx2.Client, nginx: Nginx, bearer: dict[str, str]) -> None:
    assert read_problem(client.post("/api/v1/tasks", json=TASK)) == (401, "unauthorized")
    own = {**bearer, "Origin": nginx.secure, "Sec-Fetch-Site": "same-origin"}  # what a browser sends, with the scheme
    accepted = client.post("/api/v1/tasks", json=TASK, headers=own)
    assert accepted.status_code == 202
    task_id = accepted.json()["task_id"]
    assert client.get(accepted.headers["Location"], headers=bearer).json()["task_id"] == task_id
    foreign = {**bearer, "Origin": nginx.secure.replace("https", "http")}
    assert read_problem(client.post("/api/v1/tasks", json=TASK, headers=foreign)) == (403, "foreign-origin")


def _try_sizes(client: httpx2.Client, bearer: dict[str, str]) -> None:
    """What is too large for the server is too large for the proxy, and nothing else."""
    limit = get_settings().max_body_bytes
    text = json.dumps({**TASK, "payload": {"text": ""}}).encode()

    def send(size: int) -> httpx2.Response:
        body = text.replace(b'"text": ""', b'"text": "' + b"x" * (size - len(text)) + b'"')
        assert len(body) == size
        return client.post("/api/v1/tasks", content=body, headers={**bearer, "Content-Type": "application/json"})

    assert read_problem(send(limit + 1)) == (413, "body-too-large")
    assert send(limit).status_code == 202


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (Debian, Ubuntu: apt install chromium)")
def test_the_console_below_a_path(
    server: ServerProcess, key: str, worker: Callable[..., WorkerTree], tmp_path: Path
) -> None:
    worker()
    with run_nginx(tmp_path / "nginx", server.port, below_a_path=True) as nginx:
        with httpx2.Client(verify=trust(nginx.certificate), trust_env=False) as client:
            answer = client.post(f"{nginx.secure}/api/v1/tasks", json=TASK, headers={"Authorization": f"Bearer {key}"})
            assert answer.headers["Location"] == f"/callboard/api/v1/tasks/{answer.json()['task_id']}"
            assert client.get(nginx.secure).headers["Location"].endswith("/callboard/")
        with start_chromium() as browser:
            context = browser.new_context(ignore_https_errors=True, reduced_motion="reduce")
            visit = Visit(context.new_page(), nginx.secure)
            page = open_with_key(visit, "/submit?work=media_generation", key)
            page.get_by_label("Prompt", exact=True).fill("a lighthouse")
            page.get_by_label("Step seconds").fill("0.01")
            button(page, "Submit").click()
            task = page.locator("live-task")
            expect(task.locator("img")).to_have_js_property("naturalWidth", 512)  # the stream and the picture
            task.get_by_role("link", name="Open the task").click()
            expect(page.locator(".head .chip")).to_have_text("completed")
            page.goto("about:blank")  # ends its streams
            assert visit.errors == []
            context.close()
