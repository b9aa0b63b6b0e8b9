"""Pages of lists: bounded in items and in bytes, also in what the server reads to make them."""

import secrets
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.database.connection import Connection
from taskapi.api import paging
from tests.support.observer import Observer
from tests.taskapi.fake_worker import FakeWorker

Submit = Callable[..., dict[str, Any]]
MEBIBYTE = 1024 * 1024


def list_all(client: httpx2.Client, path: str, limit: int) -> list[list[dict[str, Any]]]:
    """Reads all pages."""
    pages, cursor = [], ""
    while cursor is not None:
        page = client.get(path, params={"limit": limit, **({"cursor": cursor} if cursor else {})}).json()
        pages.append(page["items"])
        cursor = page["next_cursor"]
    return pages


def test_every_item_is_on_one_page(client: httpx2.Client, submit: Submit) -> None:
    """Whatever the limit has to do with the size of the chunks that are read."""
    tasks = [submit()["task_id"] for _ in range(45)]
    for limit in (1, 19, 20, 21, 41, 45, 46, 500):
        pages = list_all(client, "/api/v1/tasks", limit)
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert pages[-1]
        assert [task["task_id"] for page in pages for task in page] == tasks[::-1]
    first = client.get("/api/v1/tasks?limit=21").json()
    submit()  # what is added meanwhile does not move what is read later
    rest = client.get("/api/v1/tasks", params={"cursor": first["next_cursor"]}).json()
    assert [task["task_id"] for page in (first, rest) for task in page["items"]] == tasks[::-1]


def test_a_page_ends_with_its_bytes(client: httpx2.Client, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 tasks of 20 KiB: 5 of them reach 100 KiB."""
    tasks = [submit(payload={"text": secrets.token_urlsafe(15 * 1024)})["task_id"] for _ in range(30)]
    monkeypatch.setattr(paging, "MAX_BYTES", 100 * 1024)
    page = client.get("/api/v1/tasks?limit=500")
    assert [task["task_id"] for task in page.json()["items"]] == tasks[:-6:-1]
    assert paging.MAX_BYTES <= len(page.content) < paging.MAX_BYTES + 30 * 1024
    assert [len(page) for page in list_all(client, "/api/v1/tasks", 500)] == [5] * 6


def test_large_values_are_not_listed(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor read: decided by their text, however small Postgres has made them. A page is one query, also of dead
    letters."""
    small, compressed = {"text": "x" * 30 * 1024}, {"text": "x" * 40 * 1024}
    huge, random = {"text": "x" * 2 * MEBIBYTE}, {"text": secrets.token_urlsafe(30 * 1024)}
    ids = [submit(payload=payload, target="t")["task_id"] for payload in (small, compressed, huge, random)]
    queries, size = count_queries(monkeypatch)
    for path in ("/api/v1/tasks?limit=500", "/api/v1/targets/t"):
        queries.clear()
        page = client.get(path)
        found = {item["task_id"]: item for item in page.json()["items"]}
        assert [found[each]["omitted"] for each in ids] == [[], ["payload"], ["payload"], ["payload"]]
        assert [found[each]["payload"] for each in ids] == [small, None, None, None]
        assert client.get(found[ids[2]]["links"]["self"]).json()["payload"] == huge
        assert len(page.content) < 64 * 1024
        assert sum(name in ("tasks", "target_tasks") for name in queries) == 1
    assert size["largest"] < 64 * 1024

    running = fake_worker.start()
    fake_worker.fail(running)
    [dead] = client.get("/api/v1/queues/dlq").json()["items"]
    assert (dead["payload"], dead["omitted"]) == (small, [])


def test_a_null_result_is_not_omitted(client: httpx2.Client, submit: Submit, connection: Observer) -> None:
    ids = [submit()["task_id"] for _ in range(3)]
    for its_id, result in zip(ids, ("null", '{"n": 1}', f'"{secrets.token_urlsafe(40 * 1024)}"'), strict=True):
        connection.execute("UPDATE callboard.tasks SET result = %s WHERE id = %s", [result, its_id])
    found = {item["task_id"]: item for item in client.get("/api/v1/tasks").json()["items"]}
    assert [(found[each]["result"], found[each]["omitted"]) for each in ids] == [
        (None, []), ({"n": 1}, []), (None, ["result"])
    ]  # fmt: skip


def count_queries(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], dict[str, int]]:
    """Notes the statements of lists, and the largest value that they have returned to this process."""
    names: list[str] = []
    size = {"largest": 0}
    fetch = Connection.fetch

    def note(self: Connection, name: str, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        rows = fetch(self, name, *args, **kwargs)
        names.append(name)
        if name in ("tasks", "target_tasks"):
            size["largest"] = max([size["largest"], *(len(str(value)) for row in rows for value in row.values())])
        return rows

    monkeypatch.setattr(Connection, "fetch", note)
    return names, size


def test_an_item_larger_than_a_page_has_its_own(
    client: httpx2.Client, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MAX_BYTES", 100)
    tasks = [submit()["task_id"] for _ in range(3)]
    assert [[task["task_id"] for task in page] for page in list_all(client, "/api/v1/tasks", 2)] == [
        [each] for each in tasks[::-1]
    ]


def test_lists_of_a_task_and_dead_letters(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submit(target="t", max_attempts=100)["task_id"]
    for _ in range(24):
        running = fake_worker.start()
        fake_worker.fail(running)
        client.post(f"/api/v1/tasks/{task_id}/retry")
    fake_worker.fail(fake_worker.start())
    here = f"/api/v1/tasks/{task_id}"
    assert [[each["epoch"] for each in page] for page in list_all(client, f"{here}/attempts", 10)] == [
        [*range(1, 11)], [*range(11, 21)], [*range(21, 26)]
    ]  # fmt: skip
    events = [each["n"] for page in list_all(client, f"{here}/events", 7) for each in page]
    assert events == [*range(1, len(events) + 1)]
    monkeypatch.setattr(paging, "MAX_BYTES", 10)
    for path in (f"{here}/attempts", f"{here}/events", "/api/v1/queues/dlq", "/api/v1/targets/t"):
        assert {len(page) for page in list_all(client, path, 500)} == {1}, path
