"""Queues over HTTP: their status, pausing and resuming them."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.support.eventually import eventually
from tests.taskapi.actors import declare_actor
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
STATUS = "/api/v1/queues/status"


def test_status(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    for options in ({}, {}, {"delay_seconds": 60}):
        submit(**options)
    submit("strict", {"text": "x"})
    fake_worker.start()
    status = client.get(STATUS).json()
    assert sorted(status) == ["by_queue", "queues", "retry_ratio", "states"]
    assert status["queues"] == {"primary": 2, "retry": 0, "scheduled": 1, "waiting": 0, "dlq": 0}
    assert status["states"] == {
        "scheduled": 1, "queued": 2, "waiting": 0, "running": 1, "paused": 0, "completed": 0, "canceled": 0, "dead": 0,
    }  # fmt: skip
    assert status["retry_ratio"] == 0.3
    by_queue = {each["queue"]: each for each in status["by_queue"]}
    assert by_queue["stage"] == {"queue": "stage", "primary": 1, "retry": 0, "running": 1, "paused": False}
    assert by_queue["other"]["primary"] == 1


def test_finished_tasks_count_until_they_are_deleted(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    tasks = [submit()["task_id"] for _ in range(5)]
    fake_worker.complete(fake_worker.start())
    for _ in range(2):
        fake_worker.fail(fake_worker.start())
    client.post(f"/api/v1/tasks/{tasks[3]}/cancel")

    def count() -> dict[str, int]:
        status = client.get(STATUS).json()
        assert status["queues"]["dlq"] == len(client.get("/api/v1/queues/dlq").json()["items"])
        return {name: tasks for name, tasks in status["states"].items() if tasks}

    assert count() == {"queued": 1, "completed": 1, "canceled": 1, "dead": 2}
    for task in tasks[:2]:
        assert client.delete(f"/api/v1/tasks/{task}").status_code == 204
    assert count() == {"queued": 1, "canceled": 1, "dead": 1}


def test_pause_and_resume(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task = submit()
    paused = client.post("/api/v1/queues/stage/pause")
    assert (paused.status_code, paused.json()) == (200, {"queue": "stage", "gate": "queue:stage", "paused": True})
    assert {each["queue"] for each in client.get(STATUS).json()["by_queue"] if each["paused"]} == {"stage"}
    with pytest.raises(ValueError, match="not enough values"):
        fake_worker.start()
    for _ in range(2):
        assert client.post("/api/v1/queues/stage/resume/").json()["paused"] is False

    def started() -> bool:
        try:
            return bool(fake_worker.start().id == task["task_id"])
        except ValueError:
            return False

    eventually(started, 5, what="started")
    for change in ({"paused": True}, {"closed_until": "2999-01-01T00:00:00Z"}):
        assert client.put("/api/v1/gates/queue:stage", json=change).status_code == 200
    client.post("/api/v1/queues/stage/resume")
    assert client.get("/api/v1/gates/queue:stage").json()["state"] == "open", "whatever has closed it"


def test_unknown_queues(client: httpx2.Client) -> None:
    for name in ("status", "dlq", "stream"):
        declare_actor(name, queue=name)
    for verb in ("pause", "resume"):
        for name in ("nobody", "dlq", "status", "stream", "%00", "queue:stage"):
            document = expect_problem(client.post(f"/api/v1/queues/{name}/{verb}"), 404, "unknown-queue")
            assert "stage" in document["known"]
            assert "dlq" not in document["known"]
