"""POST /tasks/bulk: previews, steps, receipts and refusals over HTTP."""

from collections.abc import Callable
from typing import Any

import httpx2

from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
PATH = "/api/v1/tasks/bulk"


def act(client: httpx2.Client, action: str, **body: Any) -> dict[str, Any]:
    answer = client.post(PATH, json={"action": action, **body})
    assert answer.status_code == 200, answer.text
    outcome: dict[str, Any] = answer.json()
    return outcome


def test_a_preview_and_its_action(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    running = submit()["task_id"]
    fake_worker.start()
    queued = [submit(payload={"title": "whale"})["task_id"] for _ in range(2)]
    chosen = {"actor": "anything"}
    preview = act(client, "cancel", filter=chosen, dry_run=True)
    cursor = preview.pop("cursor")
    assert preview == {
        "action": "cancel", "dry_run": True, "tasks": 3, "next_cursor": None, "skipped": [], "failed": [],
        "groups": [
            {"actor": "anything", "status": "queued", "becomes": "canceled", "tasks": 2},
            {"actor": "anything", "status": "running", "becomes": "stopping", "tasks": 1},
        ],
    }  # fmt: skip
    assert {task["status"] for task in client.get("/api/v1/tasks").json()["items"]} == {"queued", "running"}
    late = submit()["task_id"]
    receipt = act(client, "cancel", filter=chosen, cursor=cursor)
    assert (receipt["tasks"], receipt["groups"], receipt["next_cursor"]) == (3, preview["groups"], None)
    assert client.get(f"/api/v1/tasks/{late}").json()["status"] == "queued"
    again = act(client, "cancel", ids=[*queued, running, late])
    assert (again["tasks"], again["skipped"]) == (1, [
        {"status": "canceled", "tasks": 2, "task_ids": queued, "reason": "illegal-transition"},
        {"status": "running", "tasks": 1, "task_ids": [running], "reason": "stopping"},
    ])  # fmt: skip


def test_text_and_all(client: httpx2.Client, submit: Submit) -> None:
    submit(payload={"title": "whale"})
    submit(payload={"title": "shark"})
    assert act(client, "pause", filter={"text": "whale"})["tasks"] == 1
    assert act(client, "resume", all=True)["tasks"] == 1


def test_what_is_refused(client: httpx2.Client, submit: Submit) -> None:
    task_id = submit()["task_id"]
    ids = [f"tq_{n:032x}" for n in range(501)]
    for body, field in [
        ({"action": "explode", "ids": [task_id]}, "action"),
        ({"action": "cancel", "ids": ids}, "ids"),
        ({"action": "cancel", "ids": []}, "ids"),
        ({"action": "cancel", "ids": ["tq_1"]}, "ids.0"),
        ({"action": "cancel", "ids": [task_id], "filter": {}}, "ids"),
        ({"action": "cancel", "ids": [task_id], "all": True}, "ids"),
        ({"action": "cancel", "filter": {"colour": "red"}}, "filter.colour"),
        ({"action": "cancel", "filter": {"status": "gone"}}, "filter.status"),
        ({"action": "cancel", "filter": {"actor": "anything"}, "cursor": "x"}, "cursor"),
        ({"action": "cancel", "filter": {"actor": "anything"}, "force": True}, "force"),
    ]:
        expect_problem(client.post(PATH, json=body), 422, "invalid-input", field=field)
    for body in (
        {"action": "cancel"},
        {"action": "cancel", "filter": {}},
        {"action": "cancel", "filter": {"tenant": "a"}},
    ):
        expect_problem(client.post(PATH, json=body), 422, "empty-filter")
    assert client.get(f"/api/v1/tasks/{task_id}").json()["status"] == "queued"
