"""Targets over HTTP: their unfinished tasks, in order of arrival."""

from collections.abc import Callable
from typing import Any

import httpx2

from state.tasks.ids import new_task_id
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]


def ids(client: httpx2.Client, path: str) -> list[str]:
    return [task["task_id"] for task in client.get(f"/api/v1/targets/{path}").json()["items"]]


def test_unfinished_tasks_in_order(client: httpx2.Client, submit: Submit) -> None:
    first, second, third = (submit(target="repo/a", priority=priority)["task_id"] for priority in (3, 2, 0))
    submit(target="repo/b")
    other = submit(target="repo/a", tenant="acme")["task_id"]
    view = client.get("/api/v1/targets/repo/a").json()
    assert (view["target"], view["tenant"], view["next_cursor"]) == ("repo/a", None, None)
    assert [task["task_id"] for task in view["items"]] == [first, second, third]
    assert ids(client, "repo%2Fa?tenant=acme") == [other]
    client.post(f"/api/v1/tasks/{second}/cancel")
    assert ids(client, "repo/a") == [first, third]
    assert ids(client, "nothing") == []


def test_a_dead_task_stays_and_blocks_the_others(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    first, second = (submit(target="t")["task_id"] for _ in range(2))
    running = fake_worker.start()
    assert running.id == first
    fake_worker.fail(running)
    view = client.get("/api/v1/targets/t").json()
    assert (view["items"][0]["task_id"], view["items"][0]["status"]) == (first, "dead")
    assert view["items"][1]["task_id"] == second


def test_pages(client: httpx2.Client, submit: Submit) -> None:
    tasks = [submit(target="t")["task_id"] for _ in range(3)]
    page = client.get("/api/v1/targets/t?limit=2").json()
    assert [task["task_id"] for task in page["items"]] == tasks[:2]
    rest = client.get(f"/api/v1/targets/t?limit=2&cursor={page['next_cursor']}").json()
    assert ([task["task_id"] for task in rest["items"]], rest["next_cursor"]) == (tasks[2:], None)


def test_bad_parameters(client: httpx2.Client) -> None:
    for path in ("%00", "a" * 201):
        expect_problem(client.get(f"/api/v1/targets/{path}"), 422, "invalid-parameter", field="target")
    expect_problem(client.get("/api/v1/targets/t?tenant="), 422, "invalid-parameter", field="tenant")
    expect_problem(client.get("/api/v1/targets/t?tenant=%00"), 422, "invalid-parameter", field="tenant")
    expect_problem(client.get("/api/v1/targets/t?limit=0"), 422, "invalid-parameter", field="limit")
    expect_problem(client.get("/api/v1/targets/t?cursor=x"), 422, "invalid-parameter", field="cursor")


def test_tasks_by_target(client: httpx2.Client, submit: Submit) -> None:
    wanted = submit(target="t")["task_id"]
    submit(target="u"), submit()
    found = client.get("/api/v1/tasks?target=t").json()["items"]
    assert [task["task_id"] for task in found] == [wanted]


def test_a_task_that_blocks_its_target_is_resumed_or_cleared(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    first, second = (submit(target="repo/a", tenant="acme")["task_id"] for _ in range(2))
    jobs = "/api/v1/targets/repo/a/jobs"
    for _ in range(2):
        running = fake_worker.start()
        assert running.id == first
        fake_worker.fail(running)
        resumed = client.post(f"{jobs}/{first}/resume?tenant=acme")
        assert (resumed.status_code, resumed.json()["status"]) == (200, "queued"), resumed.text
    expect_problem(client.post(f"{jobs}/{first}/resume?tenant=acme"), 409, "illegal-transition", task_id=first)
    fake_worker.fail(fake_worker.start())
    cleared = client.post(f"{jobs}/{first}/clear?tenant=acme")
    assert (cleared.status_code, cleared.json()["status"]) == (200, "canceled"), cleared.text
    running = fake_worker.start()
    assert running.id == second
    asked = client.post(f"{jobs}/{second}/clear?tenant=acme")
    assert (asked.status_code, asked.json()["cancel_requested"]) == (202, "cancel")
    expect_problem(client.post(f"{jobs}/{first}/clear?tenant=acme"), 409, "illegal-transition")


def test_a_job_of_another_target(client: httpx2.Client, submit: Submit) -> None:
    task_id = submit(target="t", tenant="acme")["task_id"]
    for verb in ("resume", "clear"):
        for path in (f"t/jobs/{task_id}", f"u/jobs/{task_id}", f"t/jobs/{new_task_id()}", "t/jobs/nonsense"):
            expect_problem(client.post(f"/api/v1/targets/{path}/{verb}"), 404, "task-not-found")
        expect_problem(client.post(f"/api/v1/targets/u/jobs/{task_id}/{verb}?tenant=acme"), 404, "task-not-found")
    assert client.get(f"/api/v1/tasks/{task_id}").json()["status"] == "queued"


def test_the_list_says_who_blocks(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    first, _ = (submit(target="repo/a")["task_id"] for _ in range(2))
    other = submit(target="ü/b", tenant="acme")["task_id"]
    fake_worker.fail(fake_worker.start())
    everything = client.get("/api/v1/targets").json()
    assert everything["next_cursor"] is None
    dead, free = everything["items"]
    assert {name: dead[name] for name in ("target", "tenant", "blocked", "task_id", "status", "waiting")} == {
        "target": "repo/a", "tenant": None, "blocked": True, "task_id": first, "status": "dead", "waiting": 1,
    }  # fmt: skip
    assert dead["since"] == client.get(f"/api/v1/tasks/{first}").json()["finished_at"]
    assert (free["target"], free["tenant"], free["task_id"], free["blocked"]) == ("ü/b", "acme", other, False)
    assert client.get("/api/v1/targets?blocked=true").json()["items"] == [dead]
    assert client.get("/api/v1/targets?blocked=false").json()["items"] == [free]
    assert client.get("/api/v1/targets?tenant=acme").json()["items"] == [free]
    page = client.get("/api/v1/targets?limit=1").json()
    assert page["items"] == [dead]
    rest = client.get("/api/v1/targets", params={"limit": 1, "cursor": page["next_cursor"]}).json()
    assert (rest["items"], rest["next_cursor"]) == ([free], None)
    for query in ("blocked=1", "blocked=", "blocked=True", "cursor=eA", "limit=0", "tenant="):
        expect_problem(client.get(f"/api/v1/targets?{query}"), 422, "invalid-parameter", field=query.partition("=")[0])
    client.post(f"/api/v1/targets/repo/a/jobs/{first}/clear")
    assert client.get("/api/v1/targets?blocked=true").json()["items"] == []
