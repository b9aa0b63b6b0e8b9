"""Pages of lists: bounded in items and in bytes, also in what the server reads to make them."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.database.connection import Connection
from taskapi.api import paging
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
    """30 tasks of 2 MiB, which Postgres stores in a few kilobytes: 4 on a page, and only a chunk of rows is read."""
    tasks = [submit(payload={"text": "x" * 2 * MEBIBYTE})["task_id"] for _ in range(30)]
    read = count_rows(monkeypatch)
    page = client.get("/api/v1/tasks?limit=500")
    assert [task["task_id"] for task in page.json()["items"]] == tasks[:-5:-1]
    assert paging.MAX_BYTES <= len(page.content) < paging.MAX_BYTES + 3 * MEBIBYTE
    assert read["tasks"] <= paging.CHUNK + 1
    assert [len(page) for page in list_all(client, "/api/v1/tasks", 500)] == [4] * 7 + [2]


def count_rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts the rows that each statement has returned to this process."""
    counts: dict[str, int] = {}
    fetch = Connection.fetch

    def count(self: Connection, name: str, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        rows = fetch(self, name, *args, **kwargs)
        counts[name] = counts.get(name, 0) + len(rows)
        return rows

    monkeypatch.setattr(Connection, "fetch", count)
    return counts


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
