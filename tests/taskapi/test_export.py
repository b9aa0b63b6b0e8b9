"""GET /tasks/export: every task once, with its whole history, whatever happens on the way."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from state.database import get_database
from state.tasks import export
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

PATH = "/api/v1/tasks/export"
Submit = Callable[..., dict[str, Any]]


def read_lines(client: httpx2.Client, **params: str) -> list[dict[str, Any]]:
    answer = client.get(PATH, params=params)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.content.split(b"\n") if line]


def test_a_line_is_a_task_with_its_whole_history(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    large = {"text": "x" * 100_000, "lines": "\u2028\n"}
    tasks = [submit(payload=large), submit(), submit()]
    claimed = fake_worker.start()
    for _ in range(5):
        fake_worker.emit(claimed, *["word\u2028"] * 100)
    fake_worker.complete(claimed, {"text": "y" * 100_000})
    fake_worker.fail(fake_worker.start())
    lines = read_lines(client)
    assert [line["task_id"] for line in lines] == [task["task_id"] for task in tasks]
    for line in lines:
        links = line["links"]
        history = {
            "attempts": client.get(links["attempts"]).json()["items"],
            "events": list(read_items(client, links["events"])),
        }
        assert line == {**client.get(links["self"]).json(), **history}
    assert len(lines[0]["events"]) == 503


def read_items(client: httpx2.Client, path: str) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = client.get(path, params={"limit": "500", **({"cursor": cursor} if cursor else {})}).json()
        items += page["items"]
        cursor = page["next_cursor"]
    return items


def test_pages_windows_and_bounds(
    client: httpx2.Client, submit: Submit, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "TASKS", 3)
    monkeypatch.setattr(export, "_WINDOW", 4)
    assert read_lines(client) == []
    ids = [submit(tenant="a" if index % 7 == 0 else "b")["task_id"] for index in range(20)]
    assert [line["task_id"] for line in read_lines(client)] == ids
    assert [line["task_id"] for line in read_lines(client, tenant="a")] == ids[::7]
    assert read_lines(client, tenant="c") == []
    assert [line["task_id"] for line in read_lines(client, after=ids[4], tenant="b")] == [
        each for index, each in enumerate(ids) if index > 4 and index % 7
    ]
    # Ids are of the moment: the three first ones get one of their own.
    for index, day in enumerate(("01", "02", "03")):
        moved = connection.fetch_one(
            "SELECT callboard.first_id(%s) || right(%s, 20) AS id", [f"2025-01-{day} UTC", ids[index]]
        )
        connection.execute("UPDATE callboard.tasks SET id = %s WHERE id = %s", [moved["id"], ids[index]])
        ids[index] = moved["id"]
    between = read_lines(client, since="2025-01-02T00:00:00Z", until="2025-01-03T00:00:00Z")
    assert [line["task_id"] for line in between] == ids[1:2]
    assert [line["task_id"] for line in read_lines(client, since="2025-01-02T00:00:00Z", after=ids[0])] == ids[1:]
    assert [line["task_id"] for line in read_lines(client, since="2025-01-02T00:00:00Z", after=ids[5])] == ids[6:]
    connection.execute("UPDATE callboard.tasks SET hidden_at = now(), status = 'canceled' WHERE id = %s", [ids[0]])
    assert [line["task_id"] for line in read_lines(client)] == ids[1:]
    for wrong in ({"after": "x"}, {"since": "yesterday"}, {"cursor": "x"}):
        expect_problem(client.get(PATH, params=wrong), 422, "invalid-parameter")


def test_an_export_that_cannot_go_on_is_cut_and_goes_on_after_the_last_line(
    client: httpx2.Client, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "TASKS", 2)
    ids = [submit()["task_id"] for _ in range(5)]
    read = export._read_tasks

    def fail_later(after: str, *args: Any, **options: Any) -> Any:
        if after >= ids[1]:
            raise RuntimeError("a fault")
        return read(after, *args, **options)

    monkeypatch.setattr(export, "_read_tasks", fail_later)
    text = b""
    with pytest.raises(httpx2.RemoteProtocolError), client.stream("GET", PATH) as answer:  # noqa: PT012
        for chunk in answer.iter_raw():
            text += chunk
    got = [json.loads(line)["task_id"] for line in text.split(b"\n") if line]
    assert got == ids[:2]
    monkeypatch.setattr(export, "_read_tasks", read)
    assert [line["task_id"] for line in read_lines(client, after=got[-1])] == ids[2:]


def count_taken() -> int:
    """Connections of the pool that somebody has."""
    stats = get_database().pool().get_stats()
    return stats["pool_size"] - stats["pool_available"]


def test_a_client_that_does_not_read_holds_nothing_and_is_dropped(
    serve: Callable[..., RunningServer], connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(patience=1.0)
    payload = {"text": "x" * 200_000}
    for _ in range(100):
        assert server.client.post("/api/v1/tasks", json={"actor": "anything", "payload": payload}).status_code == 202
    reads: list[str] = []
    read = export._read_tasks

    def count(after: str, *args: Any, **options: Any) -> Any:
        reads.append(after)
        return read(after, *args, **options)

    monkeypatch.setattr(export, "_read_tasks", count)
    before = count_taken()
    with server.client.stream("GET", PATH) as answer:
        assert answer.status_code == 200
        eventually(lambda: len(server.app.state.channels._open) == 1, what="the export is under way")
        eventually(lambda: count_taken() <= before, what="no connection is held")
        eventually(lambda: not server.app.state.channels._open, what="the client was dropped")
        assert len(reads) < 4  # 20 MB were there to be sent
        with pytest.raises(httpx2.TransportError):
            for _ in answer.iter_raw():
                pass
