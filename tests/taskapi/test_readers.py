"""Readers of streams that are slow, frozen or gone. On real sockets, with every kind of server."""

import asyncio
import gc
import re
import resource
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest

from state import NewTask, submit_many
from state.access.keys import create_key
from state.settings import get_settings
from state.workers.leases import Claimed
from taskapi.guard.connections import Connection, H11Connection
from tests.support.eventually import eventually
from tests.support.following import read_all
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.running import RunningServer

Serve = Callable[..., RunningServer]
DIRECT: dict[str, dict[str, Any]] = {
    "httptools and uvloop": {"http": Connection, "loop": "auto"},
    "h11 and asyncio": {"http": H11Connection, "loop": "asyncio"},
}
KINDS = {**DIRECT, "plain uvicorn": {"http": "auto", "loop": "auto"}}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_direct_kind = pytest.mark.parametrize("kind", DIRECT.values(), ids=DIRECT)


@contextmanager
def connect(server: RunningServer, path: str, version: str = "1.1", **headers: str) -> Iterator[socket.socket]:
    """A stream whose client has asked for it, and has read nothing yet. The kernel holds little for it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(server.address)
        fields = {"Host": "localhost", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        client.sendall(f"GET {path} HTTP/{version}\r\n{head}\r\n".encode())
        yield client


def read_until_closed(client: socket.socket, size: int = 65536) -> Iterator[bytes]:
    while data := client.recv(size):
        yield data


def find_ids(answer: bytes) -> list[int]:
    """The ids of the events, whose frames may be cut into chunks anywhere but between their lines."""
    return [int(each) for each in re.findall(rb"^id: (\d+)\n", answer, re.MULTILINE)]


def is_collected(left: "weakref.WeakSet[Any]") -> bool:
    gc.collect()
    return not left


@every_kind
def test_frozen_readers_change_nothing_for_the_others(serve: Serve, fake_worker: FakeWorker, kind: Any) -> None:
    server = serve(**kind, capacity=500_000)
    [task_id] = submit_many([NewTask("anything", {})])
    path = f"/api/v1/tasks/{task_id}/stream?after=0"
    claimed = fake_worker.start()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        for _ in range(30):
            stack.enter_context(connect(server, path))
        reading = pool.submit(read_all, server.client, path)
        eventually(lambda: server.count_subscriptions() == 31, what="all have subscribed")
        for start in range(0, 300, 30):
            fake_worker.emit(claimed, *(f"{number} {'x' * 20_000}" for number in range(start, start + 30)))
        fake_worker.complete(claimed)
        assert [int(frame.id or 0) for frame in reading.result(60)] == [*range(1, 304), 303]
        eventually(lambda: server.count_subscriptions() == 0, what="the frozen ones are behind, and hold up no read")
        assert server.count_requests() == 30  # they have their 30 seconds
        unsent = server.count_unsent()
        assert len(unsent) >= 30
        assert max(unsent) < 200_000  # of 6 MB
    eventually(lambda: server.count_requests() == 0, what="they are gone")


@every_direct_kind
def test_a_reader_that_is_slow_but_reads_gets_every_event_once(
    serve: Serve, fake_worker: FakeWorker, kind: Any
) -> None:
    """It takes several times as long as a client may read nothing."""
    server = serve(**kind, capacity=50_000, patience=2.0)
    [task_id] = submit_many([NewTask("anything", {})])
    claimed = fake_worker.start()
    stop = threading.Event()

    def read_slowly(client: socket.socket) -> bytes:
        received = b""
        for data in read_until_closed(client, 4096):
            received += data
            if not stop.is_set():
                time.sleep(0.02)
        return received

    with connect(server, f"/api/v1/tasks/{task_id}/stream?after=0") as client, ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_slowly, client)
        eventually(server.count_subscriptions, what="it has subscribed")
        began = time.monotonic()
        for start in range(0, 900, 90):
            fake_worker.emit(claimed, *(f"{number} {'x' * 2_000}" for number in range(start, start + 90)))
        eventually(lambda: server.count_subscriptions() == 0, what="it is behind")
        eventually(lambda: time.monotonic() > began + 5, what="more than twice the patience has passed")
        assert not reading.done()
        stop.set()
        fake_worker.complete(claimed)
        received = reading.result(60)
    assert find_ids(received) == [*range(1, 904), 903]
    assert received.endswith(b"\r\n0\r\n\r\n")


@every_kind
def test_a_frozen_reader_is_dropped_and_can_come_back(serve: Serve, fake_worker: FakeWorker, kind: Any) -> None:
    """Also if little waits for it: less than its stream may hold."""
    server = serve(**kind, patience=1.0)
    [task_id] = submit_many([NewTask("anything", {})])
    path = f"/api/v1/tasks/{task_id}/stream"
    claimed = fake_worker.start()
    with connect(server, f"{path}?after=0") as client:
        eventually(server.count_subscriptions, what="it has subscribed")
        while server.count_requests():
            fake_worker.emit(claimed, "x" * 300_000)
        received = b"".join(read_until_closed(client))
    last = find_ids(received)[-1] - 1  # its frame may be incomplete
    fake_worker.complete(claimed)
    rest = read_all(server.client, path, **{"Last-Event-ID": str(last)})
    assert rest[0].id == str(last + 1)
    assert server.count_subscriptions() == 0


@every_kind
def test_nothing_is_left_of_a_stream_whose_client_is_gone(serve: Serve, fake_worker: FakeWorker, kind: Any) -> None:
    """Whether it has said goodbye or was reset, was idle or did not read."""
    server = serve(**kind, capacity=1000)
    idle, busy = submit_many([NewTask("anything", {}) for _ in range(2)])
    fake_worker.start()
    claimed = fake_worker.start()
    assert claimed.id == busy
    for task_id in (idle, busy):
        for reset in (False, True):
            with ExitStack() as stack:
                clients = [stack.enter_context(connect(server, f"/api/v1/tasks/{task_id}/stream")) for _ in range(10)]
                eventually(lambda: server.count_subscriptions() == 10, what="all have subscribed")
                left: weakref.WeakSet[Any] = weakref.WeakSet(server.feed.list_subscriptions())
                left.update(server.app.state.channels._open)
                assert len(left) == 20
                while task_id == busy and server.count_subscriptions():
                    fake_worker.emit(claimed, "x" * 200_000)
                if reset:
                    for client in clients:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            eventually(lambda: server.count_requests() == 0, what="no request is left")
            assert server.count_subscriptions() == 0
            assert not server.app.state.channels._open
            eventually(partial(is_collected, left), what="nothing refers to them")


@every_direct_kind
def test_a_further_request_on_its_connection_hides_no_end(serve: Serve, kind: Any) -> None:
    """It waits behind the stream, and the server does not read on: only writing shows that the client is gone."""
    server = serve(**kind, keep_alive=0.2)
    [task_id] = submit_many([NewTask("anything", {})])
    with connect(server, f"/api/v1/tasks/{task_id}/stream") as client:
        eventually(server.count_subscriptions, what="it has subscribed")
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        assert b"keep-alive" in next(data for data in read_until_closed(client) if b"keep-alive" in data)
    eventually(lambda: server.count_subscriptions() == 0, what="its subscription is over")
    eventually(lambda: server.count_requests() == 0, what="its request too")


@every_direct_kind
def test_http_1_0_gets_a_stream_without_chunks(serve: Serve, fake_worker: FakeWorker, kind: Any) -> None:
    server = serve(**kind)
    [task_id] = submit_many([NewTask("anything", {})])
    _, key = create_key("old", "reader")
    path = f"/api/v1/tasks/{task_id}/stream?after=0"
    with connect(server, path, "1.0", Authorization=f"Bearer {key}") as client:
        eventually(server.count_subscriptions, what="it has subscribed")
        fake_worker.complete(fake_worker.start())
        head, _, body = b"".join(read_until_closed(client)).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert body.startswith(b"retry: 2000\n\nid: 1\nevent: status\n")
    assert find_ids(body) == [1, 2, 3, 3]
    assert body.endswith(b"}\n\n")


@pytest.fixture
def statements(postgres: TestPostgres, connection: Observer) -> Callable[[int], str]:
    """Returns what the database was asked since a position of Postgres's log. For connections made from now on."""
    connection.execute(f"ALTER DATABASE {connection.info.dbname} SET log_statement = 'all'")
    return postgres.log_since


@pytest.fixture
def many_files(monkeypatch: pytest.MonkeyPatch, database_url: str) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    monkeypatch.setenv("CALLBOARD_MAX_CONNECTIONS", "5000")
    get_settings.cache_clear()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def read_rounds(address: tuple[str, int], path: str, streams: int, rounds: int, emit: Callable[[], None]) -> None:
    """Emits an event whenever all streams have got the one before."""
    ends = []
    for _ in range(streams):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await reader.readuntil(b"event: snapshot\n")
        ends.append((reader, writer))
    for _ in range(rounds):
        await asyncio.to_thread(emit)
        await asyncio.wait_for(asyncio.gather(*(reader.readuntil(b"event: token\n") for reader, _ in ends)), 60)
    for _, writer in ends:
        writer.close()


def test_a_thousand_streams_of_a_task_cost_as_many_queries_as_one(
    statements: Callable[[int], str], many_files: None, serve: Serve, fake_worker: FakeWorker, postgres: TestPostgres
) -> None:
    server = serve(poll=3600)  # only what happens is read
    counts = {}
    for streams in (1, 1000):
        [task_id] = submit_many([NewTask("anything", {})])
        claimed = fake_worker.start()
        begun: list[int] = []

        def emit(claimed: Claimed = claimed, begun: list[int] = begun) -> None:
            begun.append(postgres.log_size())
            fake_worker.emit(claimed, "something")

        asyncio.run(read_rounds(server.address, f"/api/v1/tasks/{task_id}/stream", streams, 10, emit))
        # The first event may come while the last stream, which has just been opened, is being served.
        counts[streams] = len(re.findall(r"callboard\.events_after\(", statements(begun[1])))
    assert counts[1] >= 9
    assert counts[1000] <= counts[1] + 2
