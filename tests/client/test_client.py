"""The verbs of both clients against a real server."""

from typing import Any

import pytest

from taskclient import Conflict, InvalidRequest, NotFound, Task, TaskCanceled, TaskDead, WaitTimeout
from tests.taskapi.fake_worker import FakeWorker

UNKNOWN = "tq_" + "0" * 32


def test_a_task_from_its_submission_to_its_result(client: Any, fake_worker: FakeWorker) -> None:
    task = client.submit("anything", {"text": "é"}, priority=1, tenant="acme")
    assert isinstance(task, Task)
    assert (task.status, task.priority, task.tenant, task.payload) == ("queued", 1, "acme", {"text": "é"})
    assert (task.model_extra or {})["links"]["self"].endswith(task.task_id), "fields without a name here are kept"
    claimed = fake_worker.start()
    fake_worker.emit(claimed, "a", "b")
    fake_worker.complete(claimed, {"answer": 42})
    assert client.wait(task.task_id, timeout=20) == {"answer": 42}
    assert client.get(task.task_id).finished
    assert [event.kind for event in client.events(task.task_id)] == ["status", "status", "token", "token", "status"]
    assert [event.n for event in client.events(task.task_id, after=3)] == [4, 5]
    assert [attempt.outcome for attempt in client.attempts(task.task_id)] == ["completed"]


def test_wait_raises_what_became_of_the_task(client: Any, fake_worker: FakeWorker) -> None:
    task_id = client.submit("anything", {}).task_id
    with pytest.raises(WaitTimeout, match=task_id):
        client.wait(task_id, timeout=0.3)
    fake_worker.fail(fake_worker.start(), "NotFound")
    with pytest.raises(TaskDead, match="NotFound: no") as dead:
        client.wait(task_id)
    assert (dead.value.error.type, dead.value.error.category, dead.value.task.task_id) == (
        "NotFound", "permanent", task_id,
    )  # fmt: skip
    assert client.dismiss(task_id).status == "canceled"
    with pytest.raises(TaskCanceled):
        client.wait(task_id)


def test_control(client: Any, fake_worker: FakeWorker) -> None:
    task_id = client.submit("anything", {"n": 1}).task_id
    assert client.pause(task_id).status == "paused"
    assert client.resume(task_id).status == "queued"
    fake_worker.fail(fake_worker.start())
    assert client.retry(task_id, {"n": 2}).payload == {"n": 2}
    assert client.cancel(task_id, force=True).status == "canceled"
    assert client.delete(task_id) is None
    with pytest.raises(NotFound):
        client.get(task_id)


def test_list_goes_through_all_pages(client: Any) -> None:
    submitted = [client.submit("anything", {"n": n}, tenant="acme").task_id for n in range(3)]
    client.submit("anything", {})
    assert [task.task_id for task in client.list(tenant="acme", limit=2)] == submitted[::-1]
    assert list(client.list(status="dead")) == []
    assert [item["name"] for item in client.pages("/api/v1/actors") if item["name"] == "strict"] == ["strict"]


def test_problems_are_exceptions(client: Any) -> None:
    with pytest.raises(NotFound) as missing:
        client.get(UNKNOWN)
    assert (missing.value.token, missing.value.status) == ("task-not-found", 404)
    assert missing.value.document["task_id"] == UNKNOWN
    with pytest.raises(InvalidRequest) as refused:
        client.submit("strict", {"text": 1})
    assert (refused.value.token, refused.value.field) == ("invalid-input", "payload.text")
    assert "payload.text" in refused.value.detail
    task_id = client.submit("anything", {}).task_id
    with pytest.raises(Conflict, match="illegal-transition"):
        client.resume(task_id)
    with pytest.raises(NotFound):
        client.get("../../../health")


def test_any_other_operation(client: Any) -> None:
    assert client.request("GET", "/api/v1/tasks", params={"limit": 1, "status": None}) == {
        "items": [], "next_cursor": None,
    }  # fmt: skip
    changed = client.request("PUT", "/api/v1/prompts/greeting", json={"text": "Hello"})
    assert changed["text"] == "Hello"
    assert client.request("GET", "/livez") == {"status": "alive"}


def test_a_key_of_the_caller_makes_one_task(client: Any) -> None:
    first = client.submit("anything", {}, idempotency_key="order-1")
    assert client.submit("anything", {}, idempotency_key="order-1").task_id == first.task_id
    with pytest.raises(InvalidRequest, match="idempotency-conflict"):
        client.submit("anything", {"other": 1}, idempotency_key="order-1")
