"""Clients that send or read too slowly are given up, and connections are limited. On a real uvicorn, with httptools and
uvloop, and with what there is without them."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskapi.api.problems import Problem
from taskapi.guard import connections
from taskapi.guard.connections import Connection, ConnectionGuard, H11Connection, limit_connections
from taskapi.guard.failures import FailureAnswers
from taskapi.guard.request_heads import HEAD_BYTES
from taskapi.guard.slow_bodies import BodyDeadline
from tests.support.eventually import eventually

# Bodies.


class Trickle:
    """Sends pieces of a body, and then nothing more."""

    def __init__(self, *pieces: bytes, ends: bool = False, pause: float = 0) -> None:
        """`pause`: seconds before all pieces but the first."""
        self._pauses = [0.0, *[pause] * len(pieces)]
        self._messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        if ends:
            self._messages[-1]["more_body"] = False

    async def receive(self) -> Message:
        if pause := self._pauses.pop(0):
            await anyio.sleep(pause)
        if self._messages:
            return self._messages.pop(0)
        await anyio.sleep_forever()
        raise AssertionError


async def read_all(_scope: Scope, receive: Receive, _send: Send) -> None:
    while (await receive())["more_body"]:
        pass


async def ignore(_: Message) -> None:
    pass


def run_with_deadline(app: ASGIApp, body: Trickle, **limits: float) -> None:
    async def run() -> None:
        await BodyDeadline(app, **limits)({"type": "http"}, body.receive, ignore)

    anyio.run(run)


@pytest.mark.parametrize("pieces", [(), (b"{",), (b"{", b'"a"', b":")])
def test_a_body_that_stops_is_answered_408(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(Problem) as refused:
        run_with_deadline(read_all, Trickle(*pieces), grace=0.05, rate=1e9)
    assert refused.value.token == "request-timeout"
    assert refused.value.headers == {"Connection": "close"}


def test_what_has_arrived_buys_time() -> None:
    body = Trickle(b"x" * 1000, b"x", ends=True, pause=1.0)
    run_with_deadline(read_all, body, grace=0.3, rate=10)  # a hundred seconds more
    with pytest.raises(Problem):
        run_with_deadline(read_all, Trickle(b"x" * 1000, b"x", ends=True, pause=1.0), grace=0.3, rate=1e9)


def test_after_the_body_a_handler_may_wait_for_ever() -> None:
    async def wait_for_the_client_to_leave(scope: Scope, receive: Receive, send: Send) -> None:
        await read_all(scope, receive, send)
        with anyio.move_on_after(0.2):
            await receive()

    run_with_deadline(wait_for_the_client_to_leave, Trickle(b"{}", ends=True), grace=0.05, rate=1e9)


def test_once_the_answer_has_begun_nobody_waits_for_the_body() -> None:
    async def answer_first(_: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        with anyio.move_on_after(0.2):
            await receive()

    run_with_deadline(answer_first, Trickle(), grace=0.05, rate=1e9)


# Connections.


class Server:
    """A server with a handler that waits, one that sends for ever, and one that reads a body."""

    def __init__(self, body_seconds: float = 30, http: Any = Connection, loop: Any = "auto") -> None:
        self.waiting = self.reading = 0
        routes = [
            Route("/", self._answer, methods=["GET", "POST"]),
            Route("/wait", self._wait),
            Route("/flood", self._flood),
        ]
        middleware = [Middleware(FailureAnswers), Middleware(BodyDeadline, grace=body_seconds)]
        app = Starlette(routes=routes, middleware=middleware)
        config = uvicorn.Config(
            app, port=0, http=http, loop=loop, log_config=None, lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._server.serve())

    def __enter__(self) -> "Server":
        self._thread.start()
        eventually(lambda: self._server.started, what="the server started")
        self.address = self._server.servers[0].sockets[0].getsockname()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive()

    @contextmanager
    def connect(self, text: str = "") -> Iterator[socket.socket]:
        with socket.create_connection(self.address, timeout=20) as client:
            client.sendall(text.encode())
            yield client

    def count_connections(self) -> int:
        return len(self._server.server_state.connections)

    async def _answer(self, request: Request) -> Response:
        self.reading += request.method == "POST"
        return JSONResponse({"body": (await request.body()).decode()})

    async def _wait(self, _: Request) -> Response:
        self.waiting += 1
        await anyio.sleep_forever()
        raise AssertionError

    async def _flood(self, _: Request) -> Response:
        async def send() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 65536
                await anyio.lowlevel.checkpoint()

        return StreamingResponse(send())


GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
WAIT = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"


KINDS: dict[str, dict[str, Any]] = {
    "httptools and uvloop": {"http": Connection, "loop": "auto"},
    "h11 and asyncio": {"http": H11Connection, "loop": "asyncio"},
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(**request.param) as running:
        yield running


def is_closed(client: socket.socket) -> bool:
    """Waits for the server to close the connection."""
    with suppress(ConnectionResetError):
        return client.recv(100) == b""
    return True


def expect_answer(client: socket.socket, status: int = 200) -> None:
    answer = b""
    while b"}" not in answer:
        answer += client.recv(4096)
    assert answer.startswith(f"HTTP/1.1 {status}".encode()), answer


@pytest.mark.parametrize("begin", ["", "G", "GET / HTTP/1.1\r\nHost: local"])
def test_headers_must_arrive_in_time(server: Server, monkeypatch: pytest.MonkeyPatch, begin: str) -> None:
    monkeypatch.setattr(ConnectionGuard, "header_seconds", 0.2)
    with server.connect(begin) as client:
        assert is_closed(client)


@pytest.mark.parametrize("rest", ["G", "GET / HTTP/1.1\r\nHost: local"])
def test_those_of_a_further_request_too(server: Server, monkeypatch: pytest.MonkeyPatch, rest: str) -> None:
    with server.connect(GET) as client:
        expect_answer(client)
        monkeypatch.setattr(ConnectionGuard, "header_seconds", 0.2)
        client.sendall(rest.encode())  # its first byte stops uvicorn's clock for connections without a request
        assert is_closed(client)


def test_a_request_that_is_being_served_has_no_such_limit(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectionGuard, "header_seconds", 1.0)
    with server.connect("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n") as client:
        eventually(lambda: server.reading == 1)
        client.sendall(b"x")
        client.settimeout(1.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(20)
        client.sendall(b"x")
        expect_answer(client)


@every_kind
@pytest.mark.parametrize("size", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_body_must_arrive_in_time(size: str, kind: Any) -> None:
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\n{size}\r\n\r\n"
    with Server(body_seconds=0.2, **kind) as server, server.connect(head) as client:
        expect_answer(client, 408)
        assert is_closed(client)


def test_a_trickle_of_headers_does_not_help(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectionGuard, "header_seconds", 0.5)
    with server.connect("GET / HTTP/1.1\r\n") as client:
        client.settimeout(0.05)
        with suppress(ConnectionError):
            for number in range(1000):
                client.sendall(f"X-{number}: a\r\n".encode())
                with suppress(TimeoutError):
                    assert client.recv(1) == b""
                    break
            else:
                raise AssertionError("the server goes on waiting")


def test_a_client_that_does_not_read_is_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectionGuard, "read_seconds", 0.3)
    with server.connect("GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        eventually(lambda: server.count_connections() == 1)
        eventually(lambda: server.count_connections() == 0, what="the connection is dropped")


def test_an_idle_connection_gives_way(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "limit_connections", lambda: 3)
    with ExitStack() as stack:
        busy = stack.enter_context(server.connect(WAIT))
        eventually(lambda: server.waiting == 1)
        first = stack.enter_context(server.connect("GET / HT"))  # slow headers
        eventually(lambda: server.count_connections() == 2)
        second = stack.enter_context(server.connect(GET))
        expect_answer(second)
        third = stack.enter_context(server.connect(GET))
        expect_answer(third)
        assert is_closed(first)
        fourth = stack.enter_context(server.connect(GET))
        expect_answer(fourth)
        assert is_closed(second)
        busy.settimeout(0.1)
        with pytest.raises(TimeoutError):
            busy.recv(1)


def test_if_all_connections_work_a_further_one_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "limit_connections", lambda: 2)
    with ExitStack() as stack:
        working = [stack.enter_context(server.connect(WAIT)) for _ in range(2)]
        eventually(lambda: server.waiting == 2)
        with server.connect() as refused:
            expect_answer(refused, 503)
        working.pop().close()
        eventually(lambda: server.count_connections() == 1)
        with server.connect(GET) as accepted:
            expect_answer(accepted)


def test_what_is_not_http_gets_a_problem_document(server: Server) -> None:
    with server.connect("nonsense\r\n\r\n") as client, client.makefile("rb") as answer:
        head, _, document = answer.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    for header in (b"x-content-type-options: nosniff", b"frame-ancestors", b"connection: close"):
        assert header in head.lower()
    assert json.loads(document)["error"] == "bad-request"


HEAD = "GET / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        ("GET /", "a" * 1000),  # a path
        (HEAD + "X: ", "a" * 1000),  # one header
        (HEAD, f"X: {'a' * 1000}\r\n"),  # many
        (CHUNKED + "X: ", "a" * 1000),  # trailers of a body
        (CHUNKED, f"X: {'a' * 1000}\r\n"),
    ],
)
def test_headers_that_do_not_end_are_refused(server: Server, begin: str, piece: str) -> None:
    with server.connect(begin) as client:
        for sent in range(0, 50_000_000, len(piece)):
            try:
                client.sendall(piece.encode())
            except ConnectionError:
                break
            if sent > 2 * HEAD_BYTES and server.count_connections() == 0:
                break
        else:
            raise AssertionError("the server takes everything")
    eventually(lambda: server.count_connections() == 0, what="the connection is closed")


@pytest.mark.parametrize("size", [HEAD_BYTES + 1000, 3 * HEAD_BYTES])
def test_headers_that_are_too_large_are_refused_when_they_arrive_at_once(size: int) -> None:
    with Server() as server, server.connect(f"{HEAD}X: {'a' * size}\r\n\r\n") as client:
        with suppress(ConnectionResetError):  # it has not read all of it
            expect_answer(client, 400)
        assert is_closed(client)


def test_large_headers_are_served_up_to_the_limit() -> None:
    with Server() as server, server.connect(f"{HEAD}X: {'a' * (HEAD_BYTES - 1000)}\r\n\r\n") as client:
        expect_answer(client)
        client.sendall(f"{HEAD}X: {'a' * (HEAD_BYTES - 1000)}\r\n\r\n".encode())  # each request has its own
        expect_answer(client)


@pytest.mark.parametrize("hosts", ["", "Host: localhost\r\nHost: localhost\r\n"])
def test_a_request_needs_one_host(server: Server, hosts: str) -> None:
    with server.connect(f"GET / HTTP/1.1\r\n{hosts}\r\n") as client:
        expect_answer(client, 400)


def test_a_large_body_in_small_chunks_is_no_head(server: Server) -> None:
    with server.connect(CHUNKED.removesuffix("0\r\n")) as client:
        client.sendall(b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n")
        expect_answer(client)


def test_http_1_0_is_answered_without_chunks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.connect("GET / HTTP/1.0\r\n\r\n") as client, client.makefile("rb") as answer:
        assert answer.read().endswith(b'{"body":""}')
    with server.connect("GET /flood HTTP/1.0\r\n\r\n") as client:
        received = b""
        while len(received) < 100_000:
            received += client.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert set(body) == set(b"x")


def test_the_limit_leaves_files_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, expected in {100: 1, 1024: 896, 1_000_000: 1000}.items():
        monkeypatch.setattr("resource.getrlimit", lambda _, files=files: (files, files))
        assert limit_connections() == expected
