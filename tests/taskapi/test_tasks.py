"""Submitting, reading and canceling tasks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from state.tasks.ids import new_task_id
from tests.taskapi.fake_worker import WORKER_ID, FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]

FIELDS = """
    task_id actor queue lane status priority payload result error error_history progress attempt max_attempts
    retry_count epoch available_at created_at started_at finished_at updated_at worker_id heartbeat_at
    lease_expires_at cancel_requested tenant target workflow_id dedup_key gates waiting usage links
"""


def test_a_task_is_accepted_and_can_be_read(client: httpx2.Client) -> None:
    answer = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {"x": [1, None, "ü"]}})
    assert answer.status_code == 202
    assert answer.headers["content-type"] == "application/json"
    task = answer.json()
    assert answer.headers["location"] == f"/api/v1/tasks/{task['task_id']}"
    assert task.pop("deduplicated") is False
    assert sorted(task) == sorted(FIELDS.split())
    assert (task["actor"], task["status"], task["queue"], task["priority"]) == ("anything", "queued", "stage", 2)
    assert task["payload"] == {"x": [1, None, "ü"]}
    assert (task["progress"]["percent"], task["progress"]["message"]) == (0, "Queued")
    for moment in (task["created_at"], task["available_at"], task["progress"]["updated_at"]):
        assert moment.endswith("Z")
        assert datetime.fromisoformat(moment).utcoffset() == timedelta(0)
    assert client.get(answer.headers["location"]).json() == task
    assert {name: client.head(link).status_code for name, link in task["links"].items() if name != "cancel"} == {
        "self": 200, "events": 200, "attempts": 200, "stream": 200,
    }  # fmt: skip


def test_all_options_are_kept(submit: Submit) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    task = submit(queue="other", priority=0, max_attempts=7, available_at=soon.isoformat(), tenant="acme")
    assert (task["queue"], task["priority"], task["max_attempts"], task["tenant"]) == ("other", 0, 7, "acme")
    assert (task["status"], datetime.fromisoformat(task["available_at"])) == ("scheduled", soon)
    assert submit(delay_seconds=60)["status"] == "scheduled"
    placed = submit(target="site/1", tenant="acme")
    assert (placed["target"], placed["gates"]) == ("site/1", ["target:acme/site/1", "tenant:acme"])


def test_a_taken_dedup_key_returns_its_holder(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    first = submit(dedup_key="daily")
    assert (first["dedup_key"], first["deduplicated"]) == ("daily", False)
    again = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {"x": 1}, "dedup_key": "daily"})
    assert (again.status_code, again.json()["deduplicated"]) == (200, True)
    assert again.json()["task_id"] == first["task_id"]
    assert again.headers["location"] == first["links"]["self"]
    fake_worker.complete(fake_worker.start())
    assert submit(dedup_key="daily")["task_id"] != first["task_id"]


@pytest.mark.parametrize("path", ["/api/v1/tasks", "/api/v1/tasks/", "/api/task", "/api/task/"])
def test_older_paths_and_trailing_slashes(client: httpx2.Client, path: str) -> None:
    answer = client.post(path, json={"task_type": "anything", "payload": {}})
    assert (answer.status_code, answer.json()["actor"]) == (202, "anything")
    task_id = answer.json()["task_id"]
    shown = client.get(f"{path.rstrip('/')}/{task_id}/")
    assert (shown.status_code, shown.json()["task_id"]) == (200, task_id)


def test_summarize(client: httpx2.Client) -> None:
    answer = client.post("/api/v1/tasks/summarize", json={"content": "One. Two.", "max_sentences": 1, "priority": 1})
    task = answer.json()
    assert (answer.status_code, task["actor"], task["priority"]) == (202, "summarize", 1)
    assert (task["payload"]["content"], task["payload"]["max_sentences"]) == ("One. Two.", 1)
    assert client.post("/api/v1/tasks/summarize", json={"content": "One."}).json()["payload"]["max_sentences"] == 5


def test_the_list_has_pages(client: httpx2.Client, submit: Submit) -> None:
    ids = [submit()["task_id"] for _ in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = client.get("/api/v1/tasks", params=query).json()
        seen += [task["task_id"] for task in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ids[::-1]
    assert cursor is None
    assert client.get("/api/v1/tasks", params={"limit": 5}).json()["next_cursor"] is None
    assert len(client.get("/api/v1/tasks/").json()["items"]) == 5


def test_the_list_can_be_filtered(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    dead = submit(payload={"workflow_run_id": "run-1"}, tenant="acme")["task_id"]
    fake_worker.fail(fake_worker.start(), "NotFound")
    queued = submit("strict", {"text": "x"})["task_id"]
    filters = {
        "status=dead": [dead], "status=queued": [queued], "status=running": [],
        "actor=strict": [queued], "queue=other": [queued], "lane=retry": [dead], "lane=primary": [queued],
        "workflow_run_id=run-1": [dead], "tenant=acme": [dead], "error_type=NotFound": [dead],
        "status=dead&tenant=other": [],
    }  # fmt: skip
    for query, expected in filters.items():
        items = client.get(f"/api/v1/tasks?{query}").json()["items"]
        assert [task["task_id"] for task in items] == expected, query


def test_attempts_and_events(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task_id = submit()["task_id"]
    claimed = fake_worker.start()
    running = client.get(f"/api/v1/tasks/{task_id}").json()
    assert (running["status"], running["worker_id"], running["attempt"]) == ("running", WORKER_ID, 1)
    assert running["lease_expires_at"] > running["heartbeat_at"]
    [attempt] = client.get(f"/api/v1/tasks/{task_id}/attempts").json()["items"]
    assert (attempt["epoch"], attempt["outcome"], attempt["finished_at"]) == (1, None, None)
    fake_worker.emit(claimed, "a", "b")
    fake_worker.fail(claimed)
    [attempt] = client.get(f"/api/v1/tasks/{task_id}/attempts").json()["items"]
    assert (attempt["outcome"], attempt["error"]["type"]) == ("failed", "NotFound")
    dead = client.get(f"/api/v1/tasks/{task_id}").json()
    assert (dead["status"], dead["error"]["type"], len(dead["error_history"])) == ("dead", "NotFound", 1)

    page = client.get(f"/api/v1/tasks/{task_id}/events").json()
    assert [(e["n"], e["kind"]) for e in page["items"]] == [
        (1, "status"), (2, "status"), (3, "token"), (4, "token"), (5, "status"),
    ]  # fmt: skip
    assert sorted(page["items"][2]) == ["at", "data", "kind", "n"]
    assert page["items"][2]["data"] == {"text": "a"}
    assert page["next_cursor"] is None
    assert [e["n"] for e in client.get(f"/api/v1/tasks/{task_id}/events?after=3").json()["items"]] == [4, 5]
    first = client.get(f"/api/v1/tasks/{task_id}/events?limit=3").json()
    rest = client.get(f"/api/v1/tasks/{task_id}/events", params={"cursor": first["next_cursor"]}).json()
    assert [e["n"] for e in first["items"] + rest["items"]] == [1, 2, 3, 4, 5]
    assert client.get(f"/api/v1/tasks/{task_id}/events?after=99").json() == {"items": [], "next_cursor": None}
    moves = client.get(f"/api/v1/tasks/{task_id}/events?kind=status&limit=2").json()
    query = {"kind": "status", "cursor": moves["next_cursor"]}
    rest = client.get(f"/api/v1/tasks/{task_id}/events", params=query).json()
    assert [e["n"] for e in moves["items"] + rest["items"]] == [1, 2, 5]
    assert list_newest(client, task_id, limit="2") == [5, 4, 3, 2, 1]
    assert list_newest(client, task_id, kind="status", limit="2", after="1") == [5, 2]
    expect_problem(client.get(f"/api/v1/tasks/{task_id}/events?order=random"), 422, "invalid-parameter", field="order")


def list_newest(client: httpx2.Client, task_id: str, **query: str) -> list[int]:
    """Returns the numbers of the events of all pages."""
    numbers: list[int] = []
    while True:
        page = client.get(f"/api/v1/tasks/{task_id}/events", params={**query, "order": "newest"}).json()
        numbers += [event["n"] for event in page["items"]]
        if page["next_cursor"] is None:
            return numbers
        query["cursor"] = page["next_cursor"]


def test_cancel_happens_at_once_or_is_requested(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    queued = submit(queue="other")["links"]["cancel"]
    answer = client.post(queued)
    assert (answer.status_code, answer.json()["status"]) == (200, "canceled")
    task = submit()
    claimed = fake_worker.start()
    answer = client.post(task["links"]["cancel"], json={"force": True})
    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    assert answer.json()["cancel_requested"] == "force"
    fake_worker.complete(claimed)
    again = client.post(task["links"]["cancel"], json={})
    expect_problem(again, 409, "illegal-transition", task_id=task["task_id"], task_status="completed")


def test_a_bad_cancel_cancels_nothing(client: httpx2.Client, submit: Submit) -> None:
    task = submit()
    for body in (b'{"force": "yes"}', b'{"force": 1}', b'{"forse": true}', b"[]"):
        expect_problem(client.post(task["links"]["cancel"], content=body), 422, "invalid-input")
    expect_problem(client.post(task["links"]["cancel"], content=b"nonsense"), 400, "invalid-json")
    assert client.get(task["links"]["self"]).json()["status"] == "queued"


def test_a_malformed_id_is_not_found(client: httpx2.Client) -> None:
    for task_id in ("nonsense", "tq_", "tq_" + "0" * 33, "TQ_" + "0" * 32, "%00", "tq_%2e%2e", "ü"):
        for tail in ("", "/attempts", "/events", "/stream"):
            expect_problem(client.get(f"/api/v1/tasks/{task_id}{tail}"), 404, "task-not-found")
        expect_problem(client.post(f"/api/v1/tasks/{task_id}/cancel"), 404, "task-not-found")


def test_an_unknown_id_is_not_found(client: httpx2.Client) -> None:
    task_id = new_task_id()
    for tail in ("", "/attempts", "/events", "/stream"):
        expect_problem(client.get(f"/api/v1/tasks/{task_id}{tail}"), 404, "task-not-found", task_id=task_id)
    expect_problem(client.post(f"/api/v1/tasks/{task_id}/cancel"), 404, "task-not-found", task_id=task_id)


BAD_QUERIES = [
    "limit=0", "limit=501", "limit=x", "limit=", "limit=1&limit=2", "cursor=x", "cursor=", "cursor=dHFf", "cursor=ü",
    "status=lost", "status=", "lane=fast", "actor=%00", "statsu=dead", "limit=1e2", "limit=99999999999999999999999",
]  # fmt: skip


def test_a_malformed_query_is_refused(client: httpx2.Client) -> None:
    for query in BAD_QUERIES:
        expect_problem(client.get(f"/api/v1/tasks?{query}"), 422, "invalid-parameter")


def test_a_malformed_position_is_refused(client: httpx2.Client, submit: Submit) -> None:
    events = submit()["links"]["events"]
    for query in ("after=-1", "after=x", "after=2147483648", "limit=0", "cursor=dHFf", "before=1"):
        expect_problem(client.get(f"{events}?{query}"), 422, "invalid-parameter", field=query.partition("=")[0])


def test_a_text_is_searched(client: httpx2.Client, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [submit(payload={"title": f"whale {n}"}, tenant="acme")["task_id"] for n in range(5)][::-1]
    submit(payload={"title": "shark"})

    def read(text: str, **more: Any) -> Any:
        return client.get("/api/v1/tasks", params={"text": text, **more}).json()

    page = read("WHALE title", limit=2)
    assert [task["task_id"] for task in page["items"]] == ids[:2]
    rest = read("WHALE title", cursor=page["next_cursor"])
    assert ([task["task_id"] for task in rest["items"]], rest["next_cursor"]) == (ids[2:], None)
    assert rest["searched"]["tasks"] == 3
    assert datetime.fromisoformat(rest["searched"]["until"]).utcoffset() == timedelta(0)
    assert read("whale", tenant="other") == {
        "items": [], "next_cursor": None, "searched": {"tasks": 0, "until": None}
    }  # fmt: skip
    assert [task["task_id"] for task in read(ids[3])["items"]] == [ids[3]]
    assert "searched" not in client.get("/api/v1/tasks").json()
    for wrong in ("", "x" * 501, "\x00"):
        expect_problem(client.get("/api/v1/tasks", params={"text": wrong}), 422, "invalid-parameter", field="text")

    monkeypatch.setattr("state.tasks.search.PATIENCE", 0.0)  # it ends after its first look
    monkeypatch.setattr("state.tasks.search._BATCH", 2)
    early = read("whale")
    assert ([task["task_id"] for task in early["items"]], early["searched"]["tasks"]) == (ids[:1], 2)
    later = read("whale", cursor=early["next_cursor"])
    assert [task["task_id"] for task in later["items"]] == ids[1:3]


def test_a_page_of_a_search_ends_with_its_bytes(
    client: httpx2.Client, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [submit(payload={"text": f"whale {n} " + "x" * 20_000})["task_id"] for n in range(10)][::-1]
    monkeypatch.setattr("taskapi.api.paging.MAX_BYTES", 50_000)
    found, cursor = [], ""
    while cursor is not None:
        page = client.get("/api/v1/tasks", params={"text": "whale", **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["items"]) <= 3
        found += [task["task_id"] for task in page["items"]]
        cursor = page["next_cursor"]
    assert found == ids
