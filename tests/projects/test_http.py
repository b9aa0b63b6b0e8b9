"""Projects over HTTP: routes, problems, and the stream."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from state.projects.queue import start_run, stop
from state.tasks.ids import new_item_id, new_project_id
from taskapi.streams.feed import Pace
from tests.projects.byhand import WorkerByHand
from tests.projects.conftest import MakeProject
from tests.support.following import follow
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

API = "/api/v1/projects"
COUNT = {"title": "Count", "agent_name": "text", "task_type": "statistics", "input": {"text": "a b"}}


@pytest.fixture
def server(database_url: str) -> Iterator[RunningServer]:
    with RunningServer(Pace()) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> httpx2.Client:
    return server.client


def test_the_whole_way(client: httpx2.Client, by_hand: WorkerByHand) -> None:
    made = client.post(API, json={"name": "Spring", "tenant": "acme"})
    assert (made.status_code, made.headers["location"]) == (201, made.json()["links"]["self"])
    here = made.json()["links"]["self"]
    assert made.json()["queue_state"] == {
        "is_running": False, "should_stop": False, "mode": None, "current_run_id": None, "current_item_id": None,
        "run_status": None, "paused": False, "started_at": None, "stopped_at": None, "elapsed_seconds": None,
        "last_error": None,
    }  # fmt: skip
    added = client.post(f"{here}/items", json={"items": [COUNT, {**COUNT, "title": "First", "priority": "critical"}]})
    assert added.status_code == 201
    assert [(item["title"], item["priority"], item["status"]) for item in added.json()["items"]] == [
        ("Count", 2, "pending"),
        ("First", 0, "pending"),
    ]
    started = client.post(f"{here}/run", json={"mode": "loop", "priority": "high"})
    assert started.status_code == 202
    run_id = started.json()["run_id"]
    assert started.headers["location"] == f"/api/v1/tasks/{run_id}"
    assert client.get(started.headers["location"]).json()["priority"] == 1
    second = client.post(f"{here}/run", json={"mode": "single"})
    problem = expect_problem(second, 409, "queue-already-running")
    assert (second.json()["error"], problem["task_id"]) == ("queue-already-running", run_id)
    status = client.get(f"{here}/queue/status").json()
    assert (status["is_running"], status["mode"], status["current_run_id"]) == (True, "loop", run_id)
    assert status["started_at"].endswith("Z")
    assert status["elapsed_seconds"] >= 0
    claimed, _ = by_hand.take()
    assert client.post(f"{here}/queue/stop").json() == {"success": True}
    by_hand.complete(claimed)
    assert client.get(here).json()["items"] == {"pending": 1, "in_progress": 0, "completed": 1, "failed": 0}
    [run] = client.get(f"{here}/runs").json()["items"]
    assert (run["run_id"], run["title"], run["reason"], run["outcome"]) == (
        run_id,
        "First",
        "stop requested",
        "completed",
    )
    kinds = [event["kind"] for event in client.get(f"{here}/events").json()["items"]]
    assert kinds == ["queue", "item", "queue", "item", "queue", "item", "queue"]
    stopped = client.post(f"{here}/queue/force-stop")
    assert stopped.json() == {"success": True, "killed_runs": [], "still_running": []}
    assert [each["project_id"] for each in client.get(f"{API}?tenant=acme").json()["items"]] == [
        made.json()["project_id"]
    ]


def test_a_project_with_its_items_and_a_single_item(client: httpx2.Client) -> None:
    made = client.post(API, json={"name": "Spring", "items": [COUNT, {**COUNT, "title": "Again"}]})
    assert (made.status_code, made.json()["items"]["pending"]) == (201, 2)
    here = made.json()["links"]["self"]
    single = client.post(f"{here}/items", json={**COUNT, "title": "Single"})
    assert (single.status_code, single.json()["title"], single.json()["position"]) == (201, "Single", 3)
    wrong = client.post(f"{here}/items", json={**COUNT, "input": {"text": 7}})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "input.text"
    wrong = client.post(f"{here}/items", json={"title": "x"})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "agent_name"
    before = len(client.get(API).json()["items"])
    wrong = client.post(API, json={"name": "Autumn", "items": [COUNT, {**COUNT, "agent_name": "nobody"}]})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "items.1.agent_name"
    assert len(client.get(API).json()["items"]) == before


def test_statistics_say_how_runs_ended_and_why_the_queue_stopped(client: httpx2.Client, by_hand: WorkerByHand) -> None:
    here = client.post(API, json={"name": "Spring", "items": [COUNT] * 3}).json()["links"]["self"]
    empty = client.get(f"{here}/queue/statistics").json()
    assert empty == {"runs": 0, "completed": 0, "failed": 0, "canceled": 0, "average_seconds": None, "total_seconds": 0,
                     "runs_since_start": 0, "tokens": 0, "cost": 0, "stops": []}  # fmt: skip
    assert client.post(f"{here}/run").status_code == 202, "a single run without a body"
    by_hand.complete(by_hand.take()[0])
    client.post(f"{here}/run", json={"mode": "loop"})
    by_hand.complete(by_hand.take()[0])
    third, _ = by_hand.take()
    client.post(f"{here}/queue/stop")
    by_hand.use(third, tokens=70, cost=0.25)
    found = client.get(f"{here}/queue/statistics").json()
    assert (found["runs"], found["runs_since_start"]) == (2, 2), "the third runs, the second of the loop"
    assert (found["tokens"], found["cost"]) == (70, 0.25)
    by_hand.fail(third)
    found = client.get(f"{here}/queue/statistics").json()
    assert (found["runs"], found["completed"], found["failed"], found["canceled"]) == (3, 2, 1, 0)
    assert found["total_seconds"] >= found["average_seconds"] >= 0
    assert {each["reason"]: each["count"] for each in found["stops"]} == {"single run finished": 1, "run died": 1}
    expect_problem(client.get(f"{API}/{new_project_id()}/queue/statistics"), 404, "project-not-found")


def test_pages(client: httpx2.Client) -> None:
    ids = [client.post(API, json={"name": f"{n}"}).json()["project_id"] for n in range(3)]
    first = client.get(f"{API}?limit=2").json()
    second = client.get(f"{API}?limit=2&cursor={first['next_cursor']}").json()
    assert [each["project_id"] for each in first["items"] + second["items"]] == ids[::-1]
    here = f"{API}/{ids[0]}"
    client.post(f"{here}/items", json={"items": [{**COUNT, "title": f"{n}"} for n in range(3)]})
    first = client.get(f"{here}/items?limit=2&status=pending").json()
    second = client.get(f"{here}/items?limit=2&cursor={first['next_cursor']}").json()
    assert [each["title"] for each in first["items"] + second["items"]] == ["0", "1", "2"]
    assert client.get(f"{here}/items?status=failed").json()["items"] == []


def test_problems(client: httpx2.Client, make_project: MakeProject) -> None:
    nobody, here = f"{API}/{new_project_id()}", f"{API}/{make_project('a')}"
    for path in ("", "/items", "/queue/status", "/queue/stream", "/runs", "/events"):
        expect_problem(client.get(nobody + path), 404, "project-not-found")
        expect_problem(client.get(f"{API}/batch{path}"), 404, "project-not-found")
    for path in ("/queue/stop", "/queue/force-stop", f"/items/{new_item_id()}/retry"):
        expect_problem(client.post(nobody + path), 404, "project-not-found")
    expect_problem(client.post(f"{nobody}/run", json={"mode": "loop"}), 404, "project-not-found")
    expect_problem(client.post(f"{nobody}/items", json={"items": [COUNT]}), 404, "project-not-found")
    expect_problem(client.post(f"{here}/run", json={"mode": "twice"}), 422, "invalid-input")
    expect_problem(client.post(f"{here}/run", json={"mode": "loop", "item_id": "it_no"}), 404, "item-not-found")
    expect_problem(client.post(f"{here}/run", json={"mode": "loop", "priority": "urgent"}), 422, "invalid-input")
    expect_problem(client.post(f"{here}/items/{new_item_id()}/retry"), 404, "item-not-found")
    expect_problem(client.post(f"{here}/items/nonsense/retry"), 404, "item-not-found")
    item_id = client.get(f"{here}/items").json()["items"][0]["item_id"]
    expect_problem(client.post(f"{here}/items/{item_id}/retry"), 409, "illegal-transition")
    wrong = client.post(f"{here}/items", json={"items": [COUNT, {**COUNT, "agent_name": "nobody"}]})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "items.1.agent_name"
    wrong = client.post(f"{here}/items", json={"items": [{**COUNT, "input": {"text": 3}}]})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "items.0.input.text"
    expect_problem(client.post(API, json={"name": ""}), 422, "invalid-input")
    task = client.post("/api/v1/tasks", json={"actor": "project_run", "payload": {"project_id": new_project_id()}})
    assert "POST /api/v1/projects/{id}/run" in expect_problem(task, 422, "invalid-input")["detail"]


def test_a_dead_run_beside_a_live_one(client: httpx2.Client, make_project: MakeProject, by_hand: WorkerByHand) -> None:
    project_id = make_project("a", "b")
    dead = start_run(project_id, "single")
    by_hand.fail(by_hand.take()[0])
    live = start_run(project_id, "single")
    for verb in ("retry", "resume"):
        problem = expect_problem(client.post(f"/api/v1/tasks/{dead}/{verb}"), 409, "queue-already-running")
        assert problem["task_id"] == live
    item_id = client.get(f"{API}/{project_id}/items").json()["items"][0]["item_id"]
    assert client.post(f"{API}/{project_id}/items/{item_id}/retry").json()["status"] == "pending"


def test_fifty_concurrent_starts_over_http(server: RunningServer, make_project: MakeProject) -> None:
    project_id = make_project("a", "b")

    def begin(_: int) -> httpx2.Response:
        with httpx2.Client(base_url=server.url, timeout=60, trust_env=False) as own:
            return own.post(f"{API}/{project_id}/run", json={"mode": "loop"})

    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(begin, range(50)))
    [accepted] = [answer for answer in answers if answer.status_code == 202]
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert len(refused) == 49
    assert {each["error"] for each in refused} == {"queue-already-running"}
    assert {each["task_id"] for each in refused} == {accepted.json()["run_id"]}


def test_batches(client: httpx2.Client, make_project: MakeProject) -> None:
    idle, busy, unknown = make_project("a"), make_project("b"), new_project_id()
    live = start_run(busy, "single")
    body: dict[str, Any] = {"project_ids": [idle, busy, unknown]}
    started = client.post(f"{API}/batch/run", json={**body, "mode": "loop", "priority": "low"})
    assert started.status_code == 200
    first, second, third = started.json()["items"]
    assert (first["success"], first["error"], first["run_id"][:3]) == (True, None, "tq_")
    assert (second["success"], second["error"], second["run_id"]) == (False, "queue-already-running", live)
    assert (third["success"], third["error"], third["project_id"]) == (False, "project-not-found", unknown)
    stopped = client.post(f"{API}/batch/stop", json=body).json()["items"]
    assert [(each["success"], each["error"]) for each in stopped] == [
        (True, None),
        (True, None),
        (False, "project-not-found"),
    ]
    assert not client.get(f"{API}/{idle}/queue/status").json()["is_running"]
    expect_problem(client.post(f"{API}/batch/run", json={"project_ids": [], "mode": "loop"}), 422, "invalid-input")


def test_the_stream_sends_every_event_once(
    client: httpx2.Client, make_project: MakeProject, by_hand: WorkerByHand
) -> None:
    project_id = make_project("a", "b")
    path = f"{API}/{project_id}/queue/stream"
    with follow(client, path) as sent:
        assert next(sent).retry == "2000"
        snapshot = next(sent)
        assert (snapshot.event, snapshot.data["project_id"], snapshot.id) == ("snapshot", project_id, "2")
        start_run(project_id, "loop")
        for _ in range(2):
            by_hand.complete(by_hand.take()[0])
        frames = [next(sent) for _ in range(7)]
    assert [int(frame.id or 0) for frame in frames] == [3, 4, 5, 6, 7, 8, 9]
    told = [(frame.event, frame.data["data"]["to"]) for frame in frames]
    assert told == [
        ("queue", "running"),
        ("item", "in_progress"),
        ("item", "completed"),
        ("queue", "running"),
        ("item", "in_progress"),
        ("item", "completed"),
        ("queue", "stopped"),
    ]
    with follow(client, path, **{"Last-Event-ID": "7"}) as again:
        next(again)
        assert [next(again).id, next(again).id] == ["8", "9"]
        start_run(project_id, "loop")  # the stream goes on after a stop
        assert next(again).data["data"]["reason"] == "started"
        stop(project_id)
        assert [next(again).data["data"]["to"] for _ in range(2)] == ["stopping", "stopped"]
