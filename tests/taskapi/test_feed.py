"""The feed: the cost of many streams, and streams that do not disturb each other."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from state import NewTask, submit_many
from state.database import connect
from state.database.notifier import notify_tasks
from state.settings import get_settings
from state.tasks import events, reads
from state.workers.leases import ClaimRequest, Report, Settlement, claim, report, settle
from taskapi.streams.batch import Batch
from taskapi.streams.channel import Channel
from taskapi.streams.sse import EventFrame, Piece
from taskapi.streams.subscription import Subscription
from taskapi.streams.task_stream import TASK
from tests.support.eventually import eventually
from tests.support.following import follow, read_all
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.taskapi.fake_worker import WORKER_ID, FakeWorker
from tests.taskapi.running import RunningServer

Serve = Callable[..., RunningServer]
STREAMS = 200
ROUNDS = 10


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that reads of tasks and events have executed."""
    sent: list[str] = []
    for module in (events, reads):
        for name in ("fetch", "fetch_one"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, _counting(getattr(module, name), sent))
    return sent


def _counting(fetch: Callable[..., Any], sent: list[str]) -> Callable[..., Any]:
    def counted(statement: str, *rest: Any) -> Any:
        sent.append(statement)
        return fetch(statement, *rest)

    return counted


def connections(connection: Observer) -> int:
    row = connection.fetch_one(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND application_name LIKE 'callboard%'"
    )
    return int(row["n"])


async def follow_all(url: str, ids: list[str], opened: Callable[[], None]) -> list[list[int]]:
    """Returns the n of all events of all streams, including `snapshot` and `done`."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=60, trust_env=False) as client:
        waiting = len(ids)

        async def one(task_id: str) -> list[int]:
            nonlocal waiting
            seen = []
            async with client.stream("GET", f"/api/v1/tasks/{task_id}/stream") as answer:
                assert answer.status_code == 200
                async for line in answer.aiter_lines():
                    if line.startswith("id: "):
                        seen.append(int(line[4:]))
                        if len(seen) == 1:
                            waiting -= 1
                            if waiting == 0:
                                opened()
            return seen

        return await asyncio.gather(*(one(task_id) for task_id in ids))


@pytest.mark.parametrize("watched", [1, 20, STREAMS])
def test_connections_and_queries_do_not_grow_with_the_streams(
    server: RunningServer, connection: Observer, queries: list[str], watched: int
) -> None:
    ids = submit_many([NewTask("anything", {}) for _ in range(watched)])
    with connect("fake worker") as own, ThreadPoolExecutor(1) as pool:
        opened = threading.Event()
        everyone = pool.submit(
            asyncio.run, follow_all(server.url, [ids[number % watched] for number in range(STREAMS)], opened.set)
        )
        assert opened.wait(60)
        eventually(lambda: server.count_subscriptions() == STREAMS, what="all streams have subscribed")
        at_most = get_settings().threads + 4 + 3  # the pool, the listener, the notifier, and `own`
        assert connections(connection) <= at_most
        queries.clear()
        began = time.monotonic()
        claimed = claim(own, ClaimRequest(WORKER_ID, 1, ["stage"], [], watched, 0, 0, [], None, 0.3)).tasks
        for number in range(1, ROUNDS + 1):
            said = [{"kind": "token", "data": {"text": str(number)}}]
            assert (
                len(report(own, WORKER_ID, [Report(task.id, task.epoch, number, events=said) for task in claimed]))
                == watched
            )
            notify_tasks(ids)
        settle(own, WORKER_ID, [Settlement(task.id, task.epoch, "completed") for task in claimed])
        notify_tasks(ids)
        seen = everyone.result(60)
        polls = time.monotonic() - began
        assert seen == [[1, *range(2, ROUNDS + 4), ROUNDS + 3]] * STREAMS
        assert set(queries) == {"events_of_many", "tasks_of_many"}
        assert len(queries) <= 2 * (ROUNDS + 2) + polls
        assert connections(connection) <= at_most
    eventually(lambda: server.count_subscriptions() == 0, what="no stream is left")


def test_a_client_that_does_not_read_is_dropped_and_others_are_not_affected(
    serve: Serve, fake_worker: FakeWorker
) -> None:
    server = serve(capacity=300, patience=1.0)
    [task_id] = submit_many([NewTask("anything", {})])
    path = f"/api/v1/tasks/{task_id}/stream"
    claimed = fake_worker.start()
    texts = [f"{number} {'x' * 40_000}" for number in range(600)]
    with socket.socket() as deaf, ThreadPoolExecutor(1) as pool:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(30)
        deaf.connect(server.address)
        deaf.sendall(f"GET {path}?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        reading = pool.submit(read_all, server.client, f"{path}?after=0")
        eventually(lambda: server.count_subscriptions() == 2, what="both have subscribed")
        for start in range(0, len(texts), 50):
            fake_worker.emit(claimed, *texts[start : start + 50])
        fake_worker.complete(claimed)
        frames = reading.result(60)
        assert [frame.data["data"]["text"] for frame in frames if frame.event == "token"] == texts
        assert frames[-1].event == "done"
        eventually(lambda: server.count_requests() == 0, what="the client that does not read is dropped")
        received = b"".join(_until_closed(deaf))
    assert b"event: done" not in received
    last = max(int(line[4:]) for line in received.decode(errors="replace").splitlines() if line.startswith("id: "))
    assert 1 <= last < 600
    rest = read_all(server.client, path, **{"Last-Event-ID": str(last)})
    assert [int(frame.id or 0) for frame in rest] == [*range(last + 1, 604), 603]


def _until_closed(connection: socket.socket) -> Iterator[bytes]:
    while data := connection.recv(65536):
        yield data


def test_a_stream_whose_notification_was_lost_ends_in_time_beside_a_busy_one(
    serve: Serve, fake_worker: FakeWorker
) -> None:
    server = serve(poll=0.5)
    quiet, busy = submit_many([NewTask("anything", {}) for _ in range(2)])
    with connect("silent worker") as connection, ThreadPoolExecutor(2) as pool:
        silent = FakeWorker(connection, notifies=False)
        claimed = silent.start()
        assert claimed.id == quiet
        talking = fake_worker.start()
        over = threading.Event()

        def talk() -> None:
            while not over.is_set():
                fake_worker.emit(talking, "something")
                over.wait(0.01)
            fake_worker.complete(talking)

        followers = [pool.submit(read_all, server.client, f"/api/v1/tasks/{each}/stream") for each in (quiet, busy)]
        eventually(lambda: server.count_subscriptions() == 2, what="both have subscribed")
        talker = threading.Thread(target=talk)
        talker.start()
        try:
            silent.complete(claimed)
            assert followers[0].result(10)[-1].event == "done"
            assert not followers[1].done()
        finally:
            over.set()
            talker.join()
        assert followers[1].result(30)[-1].event == "done"


def test_a_slow_client_gets_everything(serve: Serve, fake_worker: FakeWorker) -> None:
    """Its subscription gets full again and again; the stream then reads from the database, at the client's speed."""
    server = serve(capacity=1)
    [task_id] = submit_many([NewTask("anything", {})])
    claimed = fake_worker.start()
    with follow(server.client, f"/api/v1/tasks/{task_id}/stream?after=0") as sent:
        assert [next(sent).retry, next(sent).id, next(sent).id] == ["2000", "1", "2"]
        for start in range(0, 900, 90):
            fake_worker.emit(claimed, *(str(number) for number in range(start, start + 90)))
        fake_worker.complete(claimed)
        assert [int(frame.id or 0) for frame in sent] == [*range(3, 904), 903]


class Shelf(Channel):
    """A channel that only keeps what is sent."""

    def __init__(self) -> None:
        super().__init__(10, lambda: None)
        self.sent: list[bytes] = []

    def _transmit(self, piece: Piece) -> None:
        self.sent.append(piece.text)

    def _count_unread(self) -> int:
        return 0

    def close(self) -> None: ...

    def abort(self) -> None: ...


def make_batch(after: int, *numbers: int) -> Batch:
    return Batch([EventFrame(n, str(n).encode(), str(n).encode(), None) for n in numbers], after)


def test_a_subscription_made_while_events_were_read_has_no_gap() -> None:
    async def scenario() -> None:
        shelf = Shelf()
        subscription = Subscription(shelf, TASK, "tq", 3, False)
        subscription.offer(make_batch(7, 8))  # read for subscriptions that were at 7
        assert subscription.position == 3
        subscription.offer(make_batch(1, 2, 3, 4, 5))
        subscription.offer(make_batch(1, 2, 3, 4, 5))
        assert shelf.sent == [b"45"]
        assert subscription.position == 5

    asyncio.run(scenario())


def test_streams_go_on_after_the_database_was_restarted(
    server: RunningServer, postgres: TestPostgres, database_url: str
) -> None:
    [task_id] = submit_many([NewTask("anything", {})])
    with follow(server.client, f"/api/v1/tasks/{task_id}/stream") as sent:
        assert [next(sent).retry, next(sent).event] == ["2000", "snapshot"]
        postgres.restart("immediate")
        with connect("fake worker") as connection:
            fake_worker = FakeWorker(connection)
            fake_worker.complete(fake_worker.start())
        assert [frame.event for frame in sent] == ["status", "status", "done"]
    assert server.client.get(f"/api/v1/tasks/{task_id}").json()["status"] == "completed"


def test_a_client_that_disconnects_ends_its_subscription(server: RunningServer) -> None:
    [task_id] = submit_many([NewTask("anything", {})])
    with follow(server.client, f"/api/v1/tasks/{task_id}/stream") as sent:
        assert next(sent).retry
        eventually(server.count_subscriptions, what="it has subscribed")
    eventually(lambda: server.count_subscriptions() == 0, what="its subscription is over")
