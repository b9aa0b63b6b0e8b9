"""GET /queues/stream: the status of the queues whenever it changes."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from state.tasks.queues import get_queue_status
from taskapi.streams import queue_stream
from taskapi.streams.feed import Pace
from tests.support.eventually import eventually
from tests.support.following import follow
from tests.taskapi.running import RunningServer

Serve = Callable[..., RunningServer]
STATUS = "/api/v1/queues/status"
STREAM = "/api/v1/queues/stream"


def send(server: RunningServer) -> None:
    answer = server.client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}})
    assert answer.status_code == 202, answer.text


def test_a_stream_sends_changes_and_nothing_else(serve: Serve) -> None:
    server = serve(poll=0.2, keep_alive=0.5)
    assert server.client.head(STREAM).headers["content-type"].startswith("text/event-stream")
    with follow(server.client, STREAM) as sent:
        assert next(sent).retry == "2000"
        first = next(sent)
        assert (first.event, first.id) == ("status", None)
        assert first.data == server.client.get(STATUS).json()
        assert next(sent).comments == ["keep-alive"]  # nothing has changed
        send(server)
        changed = next(each for each in sent if not each.comments)
        assert changed.data["queues"]["primary"] == 1


def test_a_stream_sends_at_most_one_status_in_an_interval(serve: Serve) -> None:
    server = serve(poll=0.5)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            send(server)

    moments = []
    with ExitStack() as stack:
        other = stack.enter_context(follow(server.client, STREAM))
        next(other), next(other)
        threads = threading.Thread(target=busy)
        threads.start()
        stack.callback(threads.join)
        stack.callback(stop.set)
        sent = stack.enter_context(follow(server.client, STREAM))
        next(sent)
        for _ in range(4):
            next(sent)
            moments.append(time.monotonic())
    assert all(late - early > 0.4 for early, late in pairwise(moments)), moments


def test_one_reader_serves_all_streams_and_rests_without_them(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[float] = []

    def read_status() -> dict[str, Any]:
        reads.append(time.monotonic())
        return get_queue_status()

    monkeypatch.setattr(queue_stream, "get_queue_status", read_status)
    server = serve(poll=0.2)
    time.sleep(0.5)
    assert not reads
    with ExitStack() as stack:
        streams = [stack.enter_context(follow(server.client, STREAM)) for _ in range(20)]
        for sent in streams:
            assert [next(sent).event, next(sent).event] == [None, "status"]
        before = len(reads)
        time.sleep(1)
        assert 1 <= len(reads) - before <= 6
        send(server)
        for sent in streams:
            assert next(sent).data["queues"]["primary"] == 1
    eventually(lambda: not server.app.state.queue_watch._subscriptions, 5, what="all streams are over")
    time.sleep(0.3)
    before = len(reads)
    time.sleep(0.6)
    assert len(reads) == before
    send(server)
    with follow(server.client, STREAM) as sent:
        next(sent)
        assert next(sent).data["queues"]["primary"] == 2  # the current status, not the last one that was sent


def test_a_failed_read_ends_no_stream(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = threading.Event()

    def sometimes() -> Any:
        if fail.is_set():
            raise RuntimeError("no")
        return get_queue_status()

    monkeypatch.setattr(queue_stream, "get_queue_status", sometimes)
    server = serve(poll=0.1, keep_alive=0.3)
    with follow(server.client, STREAM) as sent:
        next(sent), next(sent)
        fail.set()
        send(server)
        assert next(sent).comments == ["keep-alive"]
        fail.clear()
        assert next(each for each in sent if not each.comments).data["queues"]["primary"] == 1


def test_streams_end_when_the_server_stops(actors: None) -> None:
    with ExitStack() as stack:
        server = RunningServer(Pace(keep_alive=600))  # longer than the client waits
        server.__enter__()
        client = stack.enter_context(httpx2.Client(base_url=server.url, timeout=20, trust_env=False))
        sent = stack.enter_context(follow(client, STREAM))
        next(sent), next(sent)
        server.loop.call_soon_threadsafe(server.app.state.queue_watch.close)
        assert list(sent) == []
        server.__exit__()
