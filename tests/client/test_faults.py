"""Lost answers, cut streams, servers that restart, that are busy, or that are not there."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import state
from taskclient import AnswerLost, Forbidden, ServerFailed, ServerUnreachable, TooManyRequests, Unauthorized
from tests.client.conftest import Connect
from tests.client.proxy import Proxy
from tests.client.scripted import Scripted, ScriptedServer
from tests.support.eventually import eventually
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.running import RunningServer

TASK = "tq_" + "1" * 32
BUSY = Scripted(429, {"error": "too-many-requests", "detail": "Slow down."}, {"Retry-After": "0"})


@pytest.fixture
def proxy(server: RunningServer) -> Iterator[Proxy]:
    with Proxy(server.address) as running:
        yield running


class Reader(threading.Thread):
    """Collects the events of a stream."""

    def __init__(self, stream: Iterator[Any]) -> None:
        super().__init__(daemon=True)
        self.events: list[Any] = []
        self.failure: Exception | None = None
        self._stream = stream
        self.start()

    def run(self) -> None:
        try:
            for event in self._stream:
                self.events.append(event)
        except Exception as failure:
            self.failure = failure

    def texts(self) -> list[str]:
        return [event.data["text"] for event in self.events if event.kind == "token"]


def test_a_lost_answer_submits_once(connect_to: Connect, proxy: Proxy) -> None:
    client = connect_to(proxy.url)
    proxy.lose_next_answer()
    task = client.submit("anything", {})
    assert proxy.lost == 1
    assert [each.task_id for each in state.list_tasks()] == [task.task_id]


def test_a_lost_answer_to_a_verb_is_not_repeated(connect_to: Connect, proxy: Proxy) -> None:
    client = connect_to(proxy.url)
    task_id = client.submit("anything", {}).task_id
    proxy.lose_next_answer()
    with pytest.raises(AnswerLost, match="may have happened"):
        client.cancel(task_id)
    assert client.get(task_id).status == "canceled"


def test_a_stream_goes_on_after_cuts_and_a_restart(connect_to: Connect, actors: None, fake_worker: FakeWorker) -> None:
    server = RunningServer().__enter__()
    with Proxy(server.address) as proxy:
        client = connect_to(proxy.url)
        task_id = client.submit("anything", {}).task_id
        claimed = fake_worker.start()
        reader = Reader(client.stream(task_id))
        eventually(lambda: reader.events, what="the snapshot")
        fake_worker.emit(claimed, "1", "2")
        eventually(lambda: reader.texts() == ["1", "2"], what="the first events")
        proxy.cut()
        fake_worker.emit(claimed, "3")
        eventually(lambda: reader.texts() == ["1", "2", "3"], what="the events after the cut")
        server.__exit__()
        fake_worker.emit(claimed, "4")
        with RunningServer() as successor:
            proxy.target = successor.address
            eventually(lambda: reader.texts() == ["1", "2", "3", "4"], what="the events after the restart")
            fake_worker.complete(claimed, "done")
            reader.join(30)
    assert reader.failure is None
    assert not reader.is_alive()
    first, *later, last = reader.events
    assert (first.kind, last.kind, last.task.status) == ("snapshot", "done", "completed")
    assert [event.n for event in later] == list(range(first.n + 1, state.get_task(task_id).last_event + 1))


def test_a_stream_that_was_cut_before_done_ends_with_done(connect_to: Connect) -> None:
    """The server answers 204 to a client that has seen all events: `done` is made up from the task."""
    task = {
        "task_id": TASK, "actor": "a", "queue": "q", "lane": "primary", "status": "completed", "priority": 2,
        "payload": {}, "progress": {}, "attempt": 1, "max_attempts": 3, "available_at": "2030-01-01T00:00:00Z",
        "created_at": "2030-01-01T00:00:00Z", "updated_at": "2030-01-01T00:00:00Z", "result": 5, "new_field": 1,
    }  # fmt: skip
    event = b'id: 7\nevent: status\ndata: {"n": 7, "kind": "status", "data": {}, "at": "2030-01-01T00:00:00Z"}\n\n'
    stream = {"Content-Type": "text/event-stream"}
    script = [Scripted(200, headers=stream, raw=event), Scripted(204), Scripted(200, task)]
    with ScriptedServer(*script) as server:
        seen = list(connect_to(server.url).stream(TASK, after=6))
    assert [(each.n, each.kind) for each in seen] == [(7, "status"), (7, "done")]
    assert seen[-1].task.result == 5
    assert seen[-1].task.new_field == 1
    assert [headers.get("last-event-id") for _, _, headers, _ in server.requests] == ["6", "7", None]
    with ScriptedServer(Scripted(204)) as server:
        assert list(connect_to(server.url).stream(TASK, after=7)) == []


def test_events_that_come_twice_are_yielded_once(connect_to: Connect) -> None:
    line = 'id: {0}\nevent: token\ndata: {{"n": {0}, "kind": "token", "data": {{}}}}\n\n'
    frames = "".join(line.format(n) for n in (1, 2, 2, 1, 3)).encode()
    stream = {"Content-Type": "text/event-stream"}
    with ScriptedServer(
        Scripted(200, headers=stream, raw=frames), Scripted(404, {"error": "task-not-found"})
    ) as server:
        events = connect_to(server.url).stream(TASK, after=0)
        assert [next(events).n for _ in range(3)] == [1, 2, 3]


def test_busy_servers_are_asked_again(connect_to: Connect) -> None:
    away = Scripted(503, {"error": "not-ready", "detail": "Later."}, {"Retry-After": "0"})
    with ScriptedServer(BUSY, away, Scripted(200, {"fine": True})) as server:
        assert connect_to(server.url).request("GET", "/api/v1/anything") == {"fine": True}
        assert len(server.requests) == 3
    with ScriptedServer(BUSY, Scripted(200, {"fine": True})) as server:
        assert connect_to(server.url).request("POST", "/api/v1/anything", json={}) == {"fine": True}
    with ScriptedServer(away) as server:
        with pytest.raises(ServerFailed, match="not-ready"):  # whether it has happened is not known
            connect_to(server.url).request("POST", "/api/v1/anything", json={})
        assert len(server.requests) == 1


def test_patience_ends(connect_to: Connect) -> None:
    later = Scripted(429, {"error": "too-many-requests", "detail": "Tomorrow."}, {"Retry-After": "86400"})
    with ScriptedServer(later) as server:
        with pytest.raises(TooManyRequests, match="Tomorrow"):
            connect_to(server.url).submit("a", {})
        with pytest.raises(TooManyRequests):
            list(connect_to(server.url).stream(TASK))
    with pytest.raises(ServerUnreachable):
        connect_to(server.url, patience=0.3).get(TASK)
    with pytest.raises(ServerUnreachable):
        list(connect_to(server.url, patience=0.3).stream(TASK))


def test_keys(connect_to: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Scripted(401, {"error": "unauthorized", "detail": "No key."}, {"X-Request-Id": "r-1"})
    with ScriptedServer(refused, Scripted(403, {"error": "forbidden"}), Scripted(403, raw=b"<html>")) as server:
        with pytest.raises(Unauthorized) as problem:
            connect_to(server.url, key="cbk_a_b").get(TASK)
        assert (problem.value.request_id, problem.value.token) == ("r-1", "unauthorized")
        with pytest.raises(Forbidden):
            connect_to(server.url).get(TASK)
        with pytest.raises(Forbidden, match="http-403"):  # of a proxy
            connect_to(server.url).get(TASK)
        monkeypatch.setenv("CALLBOARD_URL", server.url)
        monkeypatch.setenv("CALLBOARD_KEY", "cbk_c_d")
        with pytest.raises(Forbidden):
            connect_to(None).get(TASK)
        with pytest.raises(Forbidden):
            connect_to(server.url).get(TASK)
    sent = [headers.get("authorization") for _, _, headers, _ in server.requests]
    assert sent == ["Bearer cbk_a_b", None, None, "Bearer cbk_c_d", None]
