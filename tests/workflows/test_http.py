"""Workflows over HTTP: the routes, their problems, and the stream."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import httpx2
import pytest

import actors  # noqa: F401  (before the fixtures replace the catalogs)
from state import retry
from state.database.notifier import notify_tasks
from state.tasks.ids import new_workflow_id
from taskapi.streams.feed import Pace
from tests.support.following import Frame, follow, read_all
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer
from tests.workflows.handworker import HandWorker

URL = "/api/v1/workflows"
TASK = {"agent_name": "free", "task_type": "run"}
STEPS = [
    {"key": "fetch", **TASK},
    {"key": "ask", "kind": "approval", "after": ["fetch"], "expires_seconds": 3600.0},
    {"key": "use", **TASK, "after": ["ask"], "input": {"x": {"$result": "fetch", "path": "text"}}},
]

Post = Callable[..., dict[str, Any]]


@pytest.fixture
def client(catalog_of_agents: None) -> Iterator[httpx2.Client]:
    with RunningServer(Pace(poll=0.2)) as server:
        yield server.client


@pytest.fixture
def post(client: httpx2.Client) -> Post:
    def post(*steps: dict[str, Any], **options: Any) -> dict[str, Any]:
        response = client.post(URL, json={"name": "test", "steps": list(steps) or STEPS, **options})
        assert response.status_code == 202, response.text
        workflow: dict[str, Any] = response.json()
        return workflow

    return post


def get_moves(sent: Iterable[Frame]) -> list[tuple[int, str | None, str | None, str | None]]:
    """Returns id, kind, step and new status of each frame; for `snapshot` and `done` the status of the workflow."""
    frames = [each for each in sent if not each.comments]
    return [(int(each.id or 0), each.event, *_get_move(each)) for each in frames]


def _get_move(frame: Frame) -> tuple[str | None, str | None]:
    if frame.event in ("snapshot", "done"):
        return None, frame.data["status"]
    return frame.data["data"].get("step"), frame.data["data"]["to"]


def test_a_workflow_from_the_beginning_to_the_end(client: httpx2.Client, hand: HandWorker) -> None:
    body = {"name": "release", "steps": STEPS, "escalation": {"to": "ops"}, "tenant": "acme"}
    response = client.post(URL, json=body)
    assert response.status_code == 202
    created = response.json()
    assert response.headers["location"] == f"{URL}/{created['workflow_id']}" == created["links"]["self"]
    assert (created["status"], created["name"], created["tenant"]) == ("running", "release", "acme")
    assert created["escalation"] == {"to": "ops", "note": None}
    assert [(step["key"], step["status"]) for step in created["steps"]] == [
        ("fetch", "running"), ("ask", "pending"), ("use", "pending"),
    ]  # fmt: skip
    assert created["steps"][0]["task_id"].startswith("tq_")
    here = created["links"]["self"]
    hand.run("fetch", {"text": "hello"})
    waiting = client.get(here).json()["steps"]
    assert (waiting[0]["result"], waiting[1]["status"]) == ({"text": "hello"}, "waiting")
    assert waiting[1]["expires_at"].endswith("Z")
    approved = client.post(f"{here}/steps/ask/approve", json={"by": "anna", "note": "fine"})
    assert approved.status_code == 200
    assert approved.json()["steps"][1]["decided_by"] == "anna"
    tasks = client.get("/api/v1/tasks", params={"workflow_id": created["workflow_id"]}).json()["items"]
    assert [task["payload"]["input"] for task in tasks] == [{"x": "hello"}, {}]
    hand.run("use", {"done": True})
    ended = client.get(here).json()
    assert (ended["status"], ended["steps"][2]["result"]) == ("completed", {"done": True})
    assert "last_event" not in ended
    assert ended["finished_at"].endswith("Z")


def test_the_list(client: httpx2.Client, post: Post) -> None:
    ids = [post(tenant=tenant)["workflow_id"] for tenant in ("a", "b", "a")]
    page = client.get(URL, params={"limit": 2}).json()
    assert [item["workflow_id"] for item in page["items"]] == ids[:0:-1]
    assert page["items"][0]["step_counts"] == {"running": 1, "pending": 2}
    assert page["items"][0]["current_steps"] == ["fetch"]
    rest = client.get(URL, params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [item["workflow_id"] for item in rest["items"]] == ids[:1]
    assert len(client.get(URL, params={"tenant": "a"}).json()["items"]) == 2
    assert client.get(URL, params={"status": "failed"}).json()["items"] == []
    expect_problem(client.get(URL, params={"status": "odd"}), 422, "invalid-parameter", field="status")
    expect_problem(client.get(URL, params={"cursor": "odd"}), 422, "invalid-parameter", field="cursor")


@pytest.mark.parametrize(
    ("steps", "token", "members"),
    [
        ([{"key": "a", **TASK, "after": ["x"]}], "invalid-workflow", {"step": "a", "field": "steps.0.after"}),
        ([{"key": "a", **TASK}, {"key": "a", **TASK}], "invalid-workflow", {"step": "a", "field": "steps.1.key"}),
        ([{"key": "a", "agent_name": "nobody", "task_type": "run"}], "invalid-workflow", {"step": "a"}),
        ([{"key": "a", **TASK, "input": {"x": {"$result": "b"}}}], "invalid-workflow", {"step": "a"}),
        ([], "invalid-input", {"field": "steps"}),
        ([{"key": "no good", **TASK}], "invalid-input", {"field": "steps.0.key"}),
        ([{"key": "a", **TASK, "priority": 9}], "invalid-input", {"field": "steps.0.priority"}),
    ],
)
def test_refusals_name_the_step(client: httpx2.Client, steps: Any, token: str, members: dict[str, Any]) -> None:
    expect_problem(client.post(URL, json={"name": "x", "steps": steps}), 422, token, **members)
    assert client.get(URL).json()["items"] == []


def test_a_step_and_its_tasks(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    many = {"key": "many", **TASK, "for_each": ["x", "y", "z"], "input": {"v": {"$item": True}}}
    workflow = post(many, {"key": "ask", "kind": "approval"})
    here = workflow["links"]["self"]
    ids = workflow["steps"][0]["task_ids"]
    first = client.get(f"{here}/steps/many/tasks", params={"limit": 2}).json()
    assert [task["task_id"] for task in first["items"]] == ids[:2]
    rest = client.get(f"{here}/steps/many/tasks", params={"cursor": first["next_cursor"]}).json()
    assert [task["payload"]["input"] for task in rest["items"]] == [{"v": "z"}]
    assert client.get(f"{here}/steps/ask/tasks").json() == {"items": [], "next_cursor": None}
    hand.take()
    hand.die("many", 1)
    dead = client.get(f"{here}/steps/many/tasks", params={"status": "dead"}).json()["items"]
    assert [task["task_id"] for task in dead] == [ids[1]]
    step = client.get(f"{here}/steps/many").json()
    assert (step["key"], step["status"], step["for_each"], step["task_ids"]) == ("many", "dead", ["x", "y", "z"], ids)
    brief, whole = (client.get(here, params={"brief": text}).json() for text in ("true", "false"))
    assert [(each["input"], each["for_each"]) for each in brief["steps"]] == [(None, None)] * 2
    assert (whole["steps"][0], brief["steps"][0]) == (step, {**step, "input": None, "for_each": None})
    for path in ("none", "a%00b", "none/tasks", "a%00b/tasks"):
        expect_problem(client.get(f"{here}/steps/{path}"), 404, "step-not-found")
    expect_problem(client.get(here, params={"brief": "1"}), 422, "invalid-parameter", field="brief")
    expect_problem(client.get(f"{here}/steps/many/tasks", params={"cursor": "odd"}), 422, "invalid-parameter")


def test_a_brief_workflow_has_no_results(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    here = post()["links"]["self"]
    hand.run("fetch", {"text": "hello"})
    assert client.get(f"{here}/steps/fetch").json()["result"] == {"text": "hello"}
    brief = client.get(here, params={"brief": "true"}).json()["steps"][0]
    assert (brief["status"], brief["result"], brief["result_bytes"]) == ("completed", None, None)


def test_an_idempotency_key_creates_it_once(client: httpx2.Client) -> None:
    answers = [client.post(URL, json={"name": "x", "steps": STEPS}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["idempotent-replayed"] == "true"
    other = client.post(URL, json={"name": "y", "steps": STEPS}, headers={"Idempotency-Key": "k"})
    expect_problem(other, 422, "idempotency-conflict")
    assert len(client.get(URL).json()["items"]) == 1


def test_repair_and_resume(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    workflow = post(escalation={"to": "ops"})
    here = workflow["links"]["self"]
    expect_problem(client.post(f"{here}/resume"), 409, "illegal-transition", workflow_status="running")
    hand.take()
    hand.die("fetch")
    assert client.get(here).json()["status"] == "escalated"
    refused = expect_problem(client.post(f"{here}/resume"), 409, "steps-still-failed", steps=["fetch"])
    assert "fetch" in refused["detail"]
    retry(workflow["steps"][0]["task_id"])
    resumed = client.post(f"{here}/resume")
    assert (resumed.status_code, resumed.json()["status"]) == (200, "running")


def test_cancel(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    still, running = post()["links"]["cancel"], post()["links"]
    hand.take()
    assert client.post(still).status_code == 202, "its task runs"
    assert client.post(running["cancel"]).json()["status"] == "canceled"
    expect_problem(client.post(still), 409, "illegal-transition", workflow_status="canceled")


def test_decisions_that_are_not_possible(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    here = post()["links"]["self"]
    by = {"by": "anna"}
    waits = client.post(f"{here}/steps/ask/approve", json=by)
    expect_problem(waits, 409, "illegal-transition", step="ask", step_status="pending")
    expect_problem(client.post(f"{here}/steps/none/approve", json=by), 404, "step-not-found", step="none")
    expect_problem(client.post(f"{here}/steps/a%00b/reject", json=by), 404, "step-not-found")
    expect_problem(client.post(f"{here}/steps/fetch/reject", json=by), 409, "illegal-transition", step="fetch")
    expect_problem(client.post(f"{here}/steps/ask/approve", json={}), 422, "invalid-input", field="by")
    expect_problem(client.post(f"{here}/steps/ask/approve"), 400, "empty-body")
    hand.run("fetch", {"text": "x"})
    assert client.post(f"{here}/steps/ask/reject", json=by).json()["status"] == "failed"
    assert client.post(f"{here}/steps/ask/reject", json=by).status_code == 200, "the same decision again"
    expect_problem(client.post(f"{here}/steps/ask/approve", json=by), 409, "illegal-transition", step_status="rejected")


@pytest.mark.parametrize("workflow_id", ["wf_1", "nothing", "wf_" + "0" * 32])
def test_unknown_workflows(client: httpx2.Client, workflow_id: str) -> None:
    here = f"{URL}/{workflow_id}"
    for path in ("", "/events", "/stream"):
        expect_problem(client.get(here + path), 404, "workflow-not-found", workflow_id=workflow_id)
    for path in ("/cancel", "/resume"):
        expect_problem(client.post(here + path), 404, "workflow-not-found")
    expect_problem(client.post(f"{here}/steps/a/approve", json={"by": "x"}), 404, "workflow-not-found")
    expect_problem(client.post(f"{here}/tasks", json={**TASK, "payload": {}}), 404, "workflow-not-found")


def test_a_task_is_added(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    workflow = post({"key": "a", **TASK})
    added = client.post(workflow["links"]["tasks"], json={**TASK, "payload": {"n": 1}, "priority": "low"})
    assert added.status_code == 202
    step = added.json()
    assert (step["status"], step["priority"], step["input"]) == ("running", 3, {"n": 1})
    wrong = client.post(workflow["links"]["tasks"], json={"agent_name": "strict", "task_type": "run", "payload": {}})
    expect_problem(wrong, 422, "invalid-workflow", field="task.input.text")
    hand.run("a")
    hand.complete(step["key"])
    refused = client.post(workflow["links"]["tasks"], json={**TASK, "payload": {}})
    expect_problem(refused, 409, "workflow-not-running", workflow_status="completed")


def test_a_task_joins_over_http(client: httpx2.Client, post: Post) -> None:
    workflow_id = post({"key": "a", **TASK})["workflow_id"]
    body = {"actor": "agent", "payload": {**TASK, "input": {}}, "workflow_id": workflow_id}
    joined = client.post("/api/v1/tasks", json=body)
    assert (joined.status_code, joined.json()["workflow_id"]) == (202, workflow_id)
    keyed = client.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": "k"})
    assert (keyed.status_code, keyed.json()["workflow_id"]) == (202, workflow_id)
    client.post(f"{URL}/{workflow_id}/cancel")
    expect_problem(client.post("/api/v1/tasks", json=body), 409, "workflow-not-running", workflow_id=workflow_id)
    unknown = client.post("/api/v1/tasks", json={**body, "workflow_id": new_workflow_id()})
    expect_problem(unknown, 404, "workflow-not-found")


def test_the_stream_has_every_event_once(client: httpx2.Client, post: Post, hand: HandWorker) -> None:
    workflow = post({"key": "a", **TASK}, {"key": "b", **TASK, "after": ["a"]})
    with follow(client, workflow["links"]["stream"]) as sent:
        assert next(sent).retry == "2000"
        snapshot = next(sent)
        assert (snapshot.event, snapshot.id, snapshot.data["status"]) == ("snapshot", "2", "running")
        hand.run("a")
        notify_tasks([workflow["workflow_id"]])
        assert get_moves(islice(sent, 2)) == [(3, "step", "a", "completed"), (4, "step", "b", "running")]
        hand.run("b")
        rest = list(sent)
    assert get_moves(rest) == [
        (5, "step", "b", "completed"),
        (6, "status", None, "completed"),
        (6, "done", None, "completed"),
    ]
    assert get_moves(read_all(client, f"{workflow['links']['stream']}?after=3")) == [
        (4, "step", "b", "running"),
        (5, "step", "b", "completed"),
        (6, "status", None, "completed"),
        (6, "done", None, "completed"),
    ]
    assert client.get(workflow["links"]["stream"], headers={"Last-Event-ID": "6"}).status_code == 204
    events = client.get(workflow["links"]["events"], params={"after": 4}).json()["items"]
    assert [event["n"] for event in events] == [5, 6]


def test_the_stream_of_a_canceled_workflow_ends_with_its_last_task(
    client: httpx2.Client, post: Post, hand: HandWorker
) -> None:
    workflow = post({"key": "a", **TASK}, {"key": "b", **TASK, "after": ["a"]})
    hand.take()
    with follow(client, workflow["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        client.post(workflow["links"]["cancel"])
        assert get_moves(islice(sent, 2)) == [(3, "status", None, "canceled"), (4, "step", "b", "canceled")]
        hand.die("a")
        assert get_moves(sent) == [(5, "step", "a", "canceled"), (5, "done", None, "canceled")]


def test_the_stream_of_a_failed_workflow_can_be_followed_again_after_its_repair(
    client: httpx2.Client, post: Post, hand: HandWorker
) -> None:
    workflow = post({"key": "a", **TASK})
    hand.take()
    hand.die("a")
    stream = workflow["links"]["stream"]
    assert [frame.event for frame in read_all(client, f"{stream}?after=2")] == ["step", "status", "done"]
    assert client.get(f"{stream}?after=4").status_code == 204
    retry(workflow["steps"][0]["task_id"])
    client.post(workflow["links"]["resume"])
    with follow(client, f"{stream}?after=4") as sent:
        assert next(sent).retry
        hand.run("a")
        assert get_moves(sent) == [
            (5, "step", "a", "running"),
            (6, "status", None, "running"),
            (7, "step", "a", "completed"),
            (8, "status", None, "completed"),
            (8, "done", None, "completed"),
        ]
