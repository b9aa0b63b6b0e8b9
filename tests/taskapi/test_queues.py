"""Queues over HTTP: their depths, now and live, and pausing them."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from taskapi import queuewatch
from tests.support.eventually import eventually
from tests.taskapi.conftest import AnyPayload, problem
from tests.taskapi.following import follow
from tests.taskapi.player import Player
from tests.taskapi.running import RunningServer

Submit = Callable[..., dict[str, Any]]
Serve = Callable[..., RunningServer]
STATUS = "/api/v1/queues/status"
STREAM = "/api/v1/queues/stream"


def send(server: RunningServer) -> None:
    answer = server.client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}})
    assert answer.status_code == 202, answer.text


def test_status(client: httpx2.Client, submit: Submit, player: Player) -> None:
    for options in ({}, {}, {"delay_seconds": 60}):
        submit(**options)
    submit("strict", {"text": "x"})
    player.start()
    status = client.get(STATUS).json()
    assert sorted(status) == ["by_queue", "queues", "retry_ratio", "states"]
    assert status["queues"] == {"primary": 2, "retry": 0, "scheduled": 1, "waiting": 0, "dlq": 0}
    assert (status["states"]["queued"], status["states"]["running"]) == (2, 1)
    assert status["retry_ratio"] == 0.3
    by_queue = {each["queue"]: each for each in status["by_queue"]}
    assert by_queue["stage"] == {"queue": "stage", "primary": 1, "retry": 0, "running": 1, "paused": False}
    assert by_queue["other"]["primary"] == 1


def test_pause_and_resume(client: httpx2.Client, submit: Submit, player: Player) -> None:
    task = submit()
    paused = client.post("/api/v1/queues/stage/pause")
    assert (paused.status_code, paused.json()) == (200, {"queue": "stage", "gate": "queue:stage", "paused": True})
    assert {each["queue"] for each in client.get(STATUS).json()["by_queue"] if each["paused"]} == {"stage"}
    with pytest.raises(ValueError, match="not enough values"):
        player.start()
    for _ in range(2):
        assert client.post("/api/v1/queues/stage/resume/").json()["paused"] is False

    def started() -> bool:
        try:
            return player.start().id == task["task_id"]
        except ValueError:
            return False

    eventually(started, 5, what="started")


def test_unknown_queues(client: httpx2.Client) -> None:
    for name in ("status", "dlq", "stream"):
        catalog.enter(ActorSpec(name, name, AnyPayload, 3, lambda: None, 60, STANDARD_POLICY, "Only for tests."))
    for verb in ("pause", "resume"):
        for name in ("nobody", "dlq", "status", "stream", "%00", "queue:stage"):
            document = problem(client.post(f"/api/v1/queues/{name}/{verb}"), 404, "unknown-queue")
            assert "stage" in document["known"]
            assert "dlq" not in document["known"]


def test_stream_tells_changes_and_nothing_else(serve: Serve) -> None:
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


def test_at_most_each_interval(serve: Serve) -> None:
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


def test_one_reader_for_all_and_none_for_nobody(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    status = queuewatch.queue_status
    monkeypatch.setattr(queuewatch, "queue_status", lambda: reads.append(1) or status())
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
    eventually(lambda: not server.app.state.queue_watch._places, 5, what="all have left")
    time.sleep(0.3)
    before = len(reads)
    time.sleep(0.6)
    assert len(reads) == before
    send(server)
    with follow(server.client, STREAM) as sent:
        next(sent)
        assert next(sent).data["queues"]["primary"] == 2  # what is so now, not what was


def test_a_failed_look_ends_nothing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = threading.Event()
    status = queuewatch.queue_status

    def sometimes() -> Any:
        if fail.is_set():
            raise RuntimeError("no")
        return status()

    monkeypatch.setattr(queuewatch, "queue_status", sometimes)
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
        server = RunningServer()
        server.__enter__()
        client = stack.enter_context(httpx2.Client(base_url=server.url, timeout=20, trust_env=False))
        sent = stack.enter_context(follow(client, STREAM))
        next(sent), next(sent)
        began = time.monotonic()
        server.loop.call_soon_threadsafe(server.app.state.queue_watch.close)
        assert list(sent) == []
        assert time.monotonic() - began < 2
        server.__exit__()
