"""GET /tasks/{id}/stream: the frames that one client gets."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from state.database import connect
from state.tasks.deadletters import retry
from state.tasks.ids import new_task_id
from state.tasks.reads import Task, get_tasks_of_many
from taskapi.streams import task_stream
from tests.support.eventually import eventually
from tests.support.following import Frame, follow, read_all
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

Submit = Callable[..., dict[str, Any]]
Serve = Callable[..., RunningServer]


def shape(sent: list[Frame]) -> list[tuple[int, str | None]]:
    return [(int(each.id or 0), each.event) for each in sent if not each.comments]


def run_task(submit: Submit, fake_worker: FakeWorker) -> dict[str, Any]:
    task = submit()
    claimed = fake_worker.start()
    fake_worker.emit(claimed, "one", "two")
    fake_worker.complete(claimed, {"answer": 42})
    return task


def test_a_snapshot_then_new_events_then_done(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task = submit()
    with follow(client, task["links"]["stream"]) as sent:
        assert next(sent).retry == "2000"
        snapshot = next(sent)
        assert (snapshot.id, snapshot.event) == ("1", "snapshot")
        task.pop("deduplicated")
        assert snapshot.data == task
        claimed = fake_worker.start()
        running = next(sent)
        assert (running.id, running.event) == ("2", "status")
        assert (running.data["n"], running.data["kind"], running.data["data"]["to"]) == (2, "status", "running")
        fake_worker.emit(claimed, "one\ntwo", "\u2028ü")
        texts = [next(sent), next(sent)]
        assert [(each.id, each.event) for each in texts] == [("3", "token"), ("4", "token")]
        assert [each.data["data"]["text"] for each in texts] == ["one\ntwo", "\u2028ü"]
        assert sorted(texts[0].data) == ["at", "data", "kind", "n"]
        fake_worker.complete(claimed, {"answer": 42})
        assert next(sent).data["data"]["to"] == "completed"
        done = next(sent)
        assert (done.id, done.event) == ("5", "done")
        assert done.data == client.get(task["links"]["self"]).json()
        assert done.data["result"] == {"answer": 42}
        assert next(sent, None) is None


def test_headers(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    stream = run_task(submit, fake_worker)["links"]["stream"]
    for answer in (client.get(stream), client.head(stream)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_every_position_gets_the_later_events_exactly_once(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    task = run_task(submit, fake_worker)
    whole = [(1, "status"), (2, "status"), (3, "token"), (4, "token"), (5, "status"), (5, "done")]
    for path in (task["links"]["stream"], f"/api/task/{task['task_id']}/stream/"):
        for after in range(5):
            assert shape(read_all(client, f"{path}?after={after}")) == whole[after:]
            assert shape(read_all(client, path, **{"Last-Event-ID": str(after)})) == whole[after:]
        for after in (5, 6, 2**31 - 1):
            for answer in (
                client.get(f"{path}?after={after}"),
                client.get(path, headers={"Last-Event-ID": str(after)}),
            ):
                assert (answer.status_code, answer.content) == (204, b"")
        assert shape(read_all(client, path)) == [(5, "snapshot"), (5, "done")]


def test_the_header_overrides_the_query(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    """EventSource reconnects with its first URL."""
    stream = run_task(submit, fake_worker)["links"]["stream"]
    assert shape(read_all(client, f"{stream}?after=0", **{"Last-Event-ID": "4"})) == [(5, "status"), (5, "done")]
    assert client.get(f"{stream}?after=0", headers={"Last-Event-ID": "5"}).status_code == 204
    assert shape(read_all(client, stream, **{"Last-Event-ID": ""})) == [(5, "snapshot"), (5, "done")]


def test_reconnecting_after_every_event_misses_nothing(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    stream = submit()["links"]["stream"]
    claimed, last, seen = None, "0", []
    for step in range(12):
        if claimed is None and step == 1:
            claimed = fake_worker.start()
        elif claimed is not None and step < 11:
            fake_worker.emit(claimed, f"step {step}")
        elif claimed is not None:
            fake_worker.complete(claimed)
        with follow(client, stream, **{"Last-Event-ID": last}) as sent:
            assert next(sent).retry
            frame = next(sent)
            seen.append((int(frame.id or 0), frame.event))
            last = frame.id or ""
    assert seen == [(1, "status"), (2, "status"), *((n, "token") for n in range(3, 12)), (12, "status")]
    assert client.get(stream, headers={"Last-Event-ID": last}).status_code == 204


def test_a_long_history_is_replayed_completely(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    stream = submit()["links"]["stream"]
    claimed = fake_worker.start()
    for start in range(0, 1500, 300):
        fake_worker.emit(claimed, *(str(number) for number in range(start, start + 300)))
    with follow(client, f"{stream}?after=0") as sent:
        assert next(sent).retry
        frames = [next(sent) for _ in range(1502)]
        fake_worker.emit(claimed, "live")
        frames.append(next(sent))
        fake_worker.complete(claimed)
        frames.extend(sent)
    assert [int(frame.id or 0) for frame in frames] == [*range(1, 1505), 1504]
    texts = [frame.data["data"]["text"] for frame in frames if frame.event == "token"]
    assert texts == [*(str(number) for number in range(1500)), "live"]


def test_a_history_with_a_retry_in_the_middle_is_sent_to_its_end(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    task = submit()
    stream = task["links"]["stream"]
    fake_worker.fail(fake_worker.start())
    dead = read_all(client, f"{stream}?after=0")
    assert shape(dead) == [(1, "status"), (2, "status"), (3, "status"), (3, "done")]
    assert dead[-1].data["status"] == "dead"
    assert client.get(stream, headers={"Last-Event-ID": "3"}).status_code == 204

    retry(task["task_id"])
    with follow(client, f"{stream}?after=0") as sent:
        assert [next(sent).retry, *(next(sent).id for _ in range(4))] == ["2000", "1", "2", "3", "4"]
        fake_worker.complete(fake_worker.start())
        assert shape(list(sent)) == [(5, "status"), (6, "status"), (6, "done")]
    assert shape(read_all(client, f"{stream}?after=1"))[-2:] == [(6, "status"), (6, "done")]
    assert shape(read_all(client, f"{stream}?after=3")) == [(4, "status"), (5, "status"), (6, "status"), (6, "done")]


def test_a_task_that_is_retried_at_its_end_is_not_done(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is retried after its last event was read and before the feed reads the task."""
    task = submit()
    retried: list[Any] = []

    def look(ids: Collection[str]) -> dict[str, Task]:
        if not retried:
            retry(task["task_id"])
            retried.append(task["task_id"])
        return get_tasks_of_many(ids)

    monkeypatch.setattr(task_stream, "TASK", replace(task_stream.TASK, read_many=look))
    with follow(client, task["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        fake_worker.fail(fake_worker.start())
        assert [next(sent).id for _ in range(3)] == ["2", "3", "4"]
        assert retried
        fake_worker.complete(fake_worker.start())
        assert shape(list(sent)) == [(5, "status"), (6, "status"), (6, "done")]


def test_a_position_in_the_future_is_waited_for(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    stream = submit()["links"]["stream"]
    with follow(client, f"{stream}?after=3") as sent:
        assert next(sent).retry
        claimed = fake_worker.start()
        fake_worker.emit(claimed, "three")
        fake_worker.complete(claimed)
        assert shape(list(sent)) == [(4, "status"), (4, "done")]


def test_events_after_the_end_are_sent_too(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    """An event can follow the last status. A client that asks from in between gets it, and `done`."""
    task = run_task(submit, fake_worker)
    with connect("test") as connection:
        connection.execute("UPDATE callboard.tasks SET last_event = 6 WHERE id = %s", [task["task_id"]])
        connection.execute(
            "INSERT INTO callboard.events VALUES (%s, 6, 'note', '{}', callboard.now())", [task["task_id"]]
        )
    assert shape(read_all(client, f"{task['links']['stream']}?after=5")) == [(6, "note"), (6, "done")]


def test_a_canceled_task_is_done(client: httpx2.Client, submit: Submit) -> None:
    task = submit()
    with follow(client, task["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        client.post(task["links"]["cancel"])
        frame, done = list(sent)
    assert (frame.data["data"]["to"], done.event, done.data["status"]) == ("canceled", "done", "canceled")


def test_hiding_a_task_ends_its_stream(client: httpx2.Client, submit: Submit, fake_worker: FakeWorker) -> None:
    task = submit()
    with follow(client, task["links"]["stream"]) as sent, connect("test") as connection:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        connection.execute("UPDATE callboard.tasks SET hidden_at = callboard.now() WHERE id = %s", [task["task_id"]])
        fake_worker.complete(fake_worker.start())
        assert [each.event for each in sent] == ["status", "status"]
    expect_problem(client.get(task["links"]["stream"]), 404, "task-not-found")


def test_the_kind_of_an_event_cannot_break_the_stream(
    client: httpx2.Client, submit: Submit, fake_worker: FakeWorker
) -> None:
    stream = submit()["links"]["stream"]
    claimed = fake_worker.start()
    fake_worker.emit(claimed, "x", kind="a\nevent: done\r\ndata: no")
    fake_worker.complete(claimed)
    assert shape(read_all(client, f"{stream}?after=2"))[0] == (3, "aevent: donedata: no")


def refused(client: httpx2.Client, path: str, **headers: str) -> httpx2.Response:
    """Reads only the body of a refusal: a stream would not end."""
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code != 200
        answer.read()
    return answer


def test_bad_positions(client: httpx2.Client, submit: Submit) -> None:
    stream = submit()["links"]["stream"]
    for after in ("-1", "x", "1.0", "1_0", "2147483648", "", "1%202"):
        expect_problem(refused(client, f"{stream}?after={after}"), 422, "invalid-parameter", field="after")
    for header in ("-1", "x", "1.0", "2147483648", "99999999999999999999", "0x1"):
        answer = refused(client, stream, **{"Last-Event-ID": header})
        expect_problem(answer, 422, "invalid-parameter", field="Last-Event-ID")
    expect_problem(refused(client, f"{stream}?from=1"), 422, "invalid-parameter", field="from")
    expect_problem(refused(client, f"/api/v1/tasks/{new_task_id()}/stream"), 404, "task-not-found")


def test_a_quiet_stream_is_kept_alive(serve: Serve, fake_worker: FakeWorker) -> None:
    client = serve(keep_alive=0.05).client
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()
    with follow(client, task["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        assert [next(sent).comments for _ in range(3)] == [["keep-alive"]] * 3
        fake_worker.complete(fake_worker.start())
        assert shape(list(sent)) == [(2, "status"), (3, "status"), (3, "done")]


def test_without_notifications_the_poll_finds_everything(
    serve: Serve, fake_worker: FakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.taskapi.fake_worker.notify_tasks", lambda ids: None)
    client = serve(poll=0.05).client
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()
    with follow(client, task["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        claimed = fake_worker.start()
        assert next(sent).id == "2"
        fake_worker.complete(claimed)
        assert shape(list(sent)) == [(3, "status"), (3, "done")]


def test_events_still_arrive_after_the_listener_lost_its_connection(
    serve: Serve, fake_worker: FakeWorker, connection: Any
) -> None:
    server = serve(poll=3600)  # without polls, only notifications bring events
    client = server.client
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()
    with follow(client, task["links"]["stream"]) as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'callboard listener'"
        )
        eventually(lambda: not server.feed.connected, what="the listener noticed")
        claimed = fake_worker.start()  # no listener gets its notification
        assert next(sent).id == "2"
        eventually(lambda: server.feed.connected, what="the listener is back")
        fake_worker.complete(claimed)
        assert shape(list(sent)) == [(3, "status"), (3, "done")]
