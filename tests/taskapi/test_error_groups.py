"""Dead letters in groups over HTTP: the list, and acting on a group."""

from collections.abc import Callable
from typing import Any

import httpx2

from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem

Submit = Callable[..., dict[str, Any]]
GROUPS = "/api/v1/queues/dlq/groups"


def kill(submit: Submit, fake_worker: FakeWorker, *error_types: str, **options: Any) -> list[str]:
    ids = []
    for error_type in error_types:
        ids.append(submit(**options)["task_id"])
        fake_worker.fail(fake_worker.start(), error_type)
    return ids


def list_groups(client: httpx2.Client, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(GROUPS, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_groups(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    assert client.get(GROUPS).json() == {"items": [], "next_cursor": None}
    ids = kill(submit, fake_worker, "NotFound", "InvalidInput", "NotFound", tenant="acme")
    first, second = list_groups(client)
    assert first.pop("first_seen") < first.pop("last_seen")
    fingerprint = first.pop("fingerprint")
    assert first == {
        "error_type": "NotFound", "message": "no", "normalized_message": "no", "task_id": ids[2], "tasks": 2,
        "counted_all": True, "actors": [{"actor": "anything", "tasks": 2}], "trend": [0] * 23 + [2],
    }  # fmt: skip
    assert (second["error_type"], second["tasks"]) == ("InvalidInput", 1)
    assert [each["fingerprint"] for each in list_groups(client, fingerprint=fingerprint)] == [fingerprint]
    for query, count in (
        ({"actor": "anything"}, 2), ({"actor": "none"}, 0), ({"error_type": "NotFound"}, 1), ({"tenant": "acme"}, 2),
        ({"tenant": "none"}, 0), ({"agent_name": "none"}, 0), ({"older_than": 3600}, 0), ({"older_than": 0}, 2),
    ):  # fmt: skip
        assert len(list_groups(client, **query)) == count, query
    for path in ("/api/v1/queues/dlq", "/api/v1/tasks"):
        found = client.get(path, params={"fingerprint": fingerprint}).json()["items"]
        assert [task["task_id"] for task in found] == [ids[2], ids[0]]


def test_pages_and_refusals(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    kill(submit, fake_worker, *(f"Error{n}" for n in range(5)))
    found: list[str] = []
    cursor = None
    while not found or cursor:
        page = client.get(GROUPS, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += [group["error_type"] for group in page["items"]]
        cursor = page["next_cursor"]
    assert found == [f"Error{n}" for n in reversed(range(5))]
    for query, field in (
        ({"limit": 101}, "limit"), ({"cursor": "x"}, "cursor"), ({"older_than": -1}, "older_than"), ({"x": 1}, "x"),
    ):  # fmt: skip
        assert expect_problem(client.get(GROUPS, params=query), 422, "invalid-parameter")["field"] == field


def test_a_group_is_acted_on(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    lost = kill(submit, fake_worker, "NotFound", "NotFound", "NotFound")
    [other] = kill(submit, fake_worker, "InvalidInput")
    fingerprint = list_groups(client, error_type="NotFound")[0]["fingerprint"]

    def act(verb: str, **body: Any) -> int:
        answer = client.post(f"/api/v1/queues/dlq/{verb}", json={"fingerprint": fingerprint, **body})
        assert answer.status_code == 200, answer.text
        tasks: int = answer.json()["tasks"]
        return tasks

    assert act("redrive", dry_run=True) == act("dismiss", dry_run=True) == 3
    assert act("redrive", actor="none") == 0
    preview = {"action": "retry", "filter": {"status": "dead", "fingerprint": fingerprint}, "dry_run": True}
    assert client.post("/api/v1/tasks/bulk", json=preview).json()["tasks"] == 3
    assert act("redrive") == 3
    assert {client.get(f"/api/v1/tasks/{each}").json()["status"] for each in lost} == {"queued"}
    assert [group["task_id"] for group in list_groups(client)] == [other]
    fingerprint = list_groups(client)[0]["fingerprint"]
    assert act("dismiss") == 1
    assert list_groups(client) == []
