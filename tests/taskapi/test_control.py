"""Control of tasks and dead letters over HTTP."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.maintenance import orphans
from state.maintenance.silence import Silence
from state.tasks.ids import new_task_id
from tests.support.clock import Clock
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
DLQ = "/api/v1/queues/dlq"


@pytest.fixture
def dead(submit: Submit, fake_worker: FakeWorker) -> Callable[..., str]:
    def dead(error_type: str = "NotFound", **options: Any) -> str:
        task_id: str = submit(**options)["task_id"]
        fake_worker.fail(fake_worker.start(), error_type)
        return task_id

    return dead


def post(client: httpx2.Client, task_id: str, verb: str, **body: Any) -> httpx2.Response:
    return client.post(f"/api/v1/tasks/{task_id}/{verb}", json=body or None)


def test_pause_happens_at_once_or_is_requested(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    queued = submit()["task_id"]
    paused = post(client, queued, "pause")
    assert (paused.status_code, paused.json()["status"]) == (200, "paused")
    resumed = post(client, queued, "resume")
    assert (resumed.status_code, resumed.json()["status"]) == (200, "queued")
    fake_worker.start()
    asked = post(client, queued, "pause")
    assert (asked.status_code, asked.json()["status"], asked.json()["cancel_requested"]) == (202, "running", "pause")
    forced = post(client, queued, "cancel", force=True)
    assert (forced.status_code, forced.json()["cancel_requested"]) == (202, "force")


@pytest.mark.parametrize("verb", ["pause", "resume", "retry", "dismiss"])
def test_verbs_that_the_status_does_not_allow(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker, verb: str
) -> None:
    task_id = submit()["task_id"]
    fake_worker.complete(fake_worker.start())
    assert expect_problem(post(client, task_id, verb), 409, "illegal-transition")["task_status"] == "completed"
    expect_problem(post(client, new_task_id(), verb), 404, "task-not-found")
    expect_problem(post(client, "nonsense", verb), 404, "task-not-found")


def test_delete_hides_a_finished_task(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task = submit()
    expect_problem(client.delete(task["links"]["self"]), 409, "illegal-transition")
    fake_worker.complete(fake_worker.start())
    assert client.delete(task["links"]["self"]).status_code == 204
    expect_problem(client.get(task["links"]["self"]), 404, "task-not-found")
    expect_problem(client.delete(task["links"]["self"]), 404, "task-not-found")
    assert client.get("/api/v1/tasks").json()["items"] == []


def test_retry_with_and_without_another_payload(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task_id = submit("strict", {"text": "old"})["task_id"]
    fake_worker.fail(fake_worker.start("other"))
    wrong = post(client, task_id, "retry", payload={"text": 5})
    assert expect_problem(wrong, 422, "invalid-input")["field"] == "payload.text"
    expect_problem(post(client, task_id, "retry", payloud={}), 422, "invalid-input")
    again = post(client, task_id, "retry")
    assert (again.status_code, again.json()["status"], again.json()["lane"]) == (200, "queued", "retry")
    fake_worker.fail(fake_worker.start("other"))
    edited = post(client, task_id, "retry", payload={"text": "new"})
    assert edited.json()["payload"]["text"] == "new"
    events = client.get(f"/api/v1/tasks/{task_id}/events").json()["items"]
    [change] = [event["data"] for event in events if event["kind"] == "payload"]
    assert (change["before"]["text"], change["after"]["text"]) == ("old", "new")


def test_the_list_of_dead_letters_and_its_pages(client: httpx2.Client, dead: Callable[..., str]) -> None:
    ids = [dead("NotFound"), dead("Boom"), dead("NotFound", tenant="acme")]
    assert [task["task_id"] for task in client.get(DLQ).json()["items"]] == ids[::-1]
    assert [task["task_id"] for task in client.get(f"{DLQ}?error_type=Boom").json()["items"]] == [ids[1]]
    assert client.get(f"{DLQ}?older_than=100").json()["items"] == []
    assert client.get(f"{DLQ}?actor=strict").json()["items"] == []
    first = client.get(f"{DLQ}?limit=2").json()
    second = client.get(f"{DLQ}?limit=2&cursor={first['next_cursor']}").json()
    assert [task["task_id"] for task in [*first["items"], *second["items"]]] == ids[::-1]
    assert second["next_cursor"] is None
    assert first["items"][0]["error"]["type"] == "NotFound"
    expect_problem(client.get(f"{DLQ}?older_than=soon"), 422, "invalid-parameter")
    expect_problem(client.get(f"{DLQ}?age=5"), 422, "invalid-parameter")


@pytest.mark.parametrize(("verb", "after"), [("redrive", "queued"), ("dismiss", "canceled")])
def test_dead_letters_by_filter(
    client: httpx2.Client, dead: Callable[..., str], clock: Clock, verb: str, after: str
) -> None:
    old, other = dead("NotFound"), dead("Boom")
    clock.advance(100)
    new = dead("NotFound")
    for harmless in ({}, {"tenant": "acme"}, {"dry_run": True}):
        expect_problem(client.post(f"{DLQ}/{verb}", json=harmless), 422, "empty-filter")
    expect_problem(client.post(f"{DLQ}/{verb}"), 400, "empty-body")
    expect_problem(client.post(f"{DLQ}/{verb}", json={"error_typ": "Boom"}), 422, "invalid-input")
    wanted = {"error_type": "NotFound", "older_than": 50}
    group = {"actor": "anything", "error_type": "NotFound", "tasks": 1}
    dry = client.post(f"{DLQ}/{verb}", json={**wanted, "dry_run": True})
    assert (dry.status_code, dry.json()) == (200, {"tasks": 1, "skipped": 0, "groups": [group], "dry_run": True})
    done = client.post(f"{DLQ}/{verb}", json=wanted)
    assert done.json() == {"tasks": 1, "skipped": 0, "groups": [group], "dry_run": False}

    def statuses() -> list[str]:
        return [client.get(f"/api/v1/tasks/{task_id}").json()["status"] for task_id in (old, other, new)]

    assert statuses() == [after, "dead", "dead"]
    assert client.post(f"{DLQ}/{verb}", json={"all": True}).json()["tasks"] == 2
    assert statuses() == [after] * 3


def test_a_dead_task_whose_dedup_key_is_held_is_not_revived(
    client: httpx2.Client, submit: Submit, dead: Callable[..., str]
) -> None:
    task_id = dead(dedup_key="k", target="t")
    holder = submit(dedup_key="k")["task_id"]
    paths = [f"/api/v1/tasks/{task_id}/{verb}" for verb in ("retry", "resume")]
    for path in [*paths, f"/api/v1/targets/t/jobs/{task_id}/resume"]:
        expect_problem(client.post(path), 409, "dedup-key-taken", task_id=task_id, holder=holder)
    redriven = client.post(f"{DLQ}/redrive", json={"all": True}).json()
    assert (redriven["tasks"], redriven["skipped"]) == (0, 1)
    client.post(f"/api/v1/tasks/{holder}/cancel")
    assert post(client, task_id, "retry").json()["status"] == "queued"


def test_requeue_orphaned_finds_lost_tasks(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_clock = [0.0]
    monkeypatch.setattr(orphans, "_silence", Silence(30, lambda: own_clock[0]))
    task_id = submit()["task_id"]
    fake_worker.start()
    nothing = client.post("/api/v1/tasks/requeue-orphaned")
    assert (nothing.status_code, nothing.json()["lost"]) == (200, {"count": 0, "tasks": []})
    clock.advance(31)
    own_clock[0] += 31
    found = client.post("/api/v1/tasks/requeue-orphaned").json()
    moved = {"task_id": task_id, "actor": "anything", "queue": "stage", "status": "queued"}
    assert found["lost"] == {"count": 1, "tasks": [moved]}
