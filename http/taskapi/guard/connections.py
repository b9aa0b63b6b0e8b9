"""Connections to uvicorn: how many there are, and how long a client may take to send the headers of a request or to
read an answer. An application sees neither: start uvicorn with `--http taskapi.guard.connections:Connection`."""

import asyncio
import resource
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.http.h11_impl import H11Protocol

from state.logs import log
from state.settings import get_settings
from taskapi.api.problems import Problem
from taskapi.guard.headers import complete
from taskapi.guard.joined_writes import JoinedWrites
from taskapi.guard.request_heads import RequestHeads
from taskapi.guard.wire import Writer, offer_wire

if TYPE_CHECKING:
    from uvicorn.server import ServerState

_OTHER_FILES = 128  # of the process: the database, listeners, contents that are sent
_UNSENT = 64 * 1024  # bytes of an answer that the process, and the kernel as well, hold for a client


class ConnectionGuard(asyncio.Protocol):
    header_seconds = 10.0  # from the connection, or the first byte of a further request, to the end of the headers
    read_seconds = 60.0  # that a client may read nothing while there is something to read

    app_state: dict[str, Any]
    server_state: "ServerState"
    transport: asyncio.Transport
    writes: JoinedWrites  # the same transport, as uvicorn sees it
    cycle: Any  # the request that is being served; of the connection's last one, when there is none

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None
        self._idle_since: float | None = None  # None: a request is being served
        self._writer: Writer | None = None
        self._paused = False
        self.app_state = offer_wire(self.app_state, self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.writes = JoinedWrites(cast("asyncio.Transport", transport))
        super().connection_made(cast("asyncio.Transport", self.writes))
        self.transport.set_write_buffer_limits(high=_UNSENT)  # the default of uvloop resumes only when all was sent
        self._wait_for_headers()
        if len(self.server_state.connections) > limit_connections():
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_serving():
            self._idle_since = None
            self._stop_waiting_for_headers()
        elif self._headers_due is None:
            self._wait_for_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # type: ignore[misc]  # a method of uvicorn's protocols
        if not self._is_serving():
            self._idle_since = asyncio.get_running_loop().time()

    def send_400_response(self, _message: str) -> None:
        """uvicorn calls this for what is not HTTP."""
        self.transport.write(_NOT_HTTP)
        self.transport.close()

    def has_whole_body(self) -> bool:
        return not self.cycle.more_body

    def attach(self, writer: Writer) -> asyncio.Transport:
        self._writer = writer
        if self.transport.is_closing():  # lost while the request waited behind another one: nobody says so again
            writer.lose()
            return self.transport
        self.writes.flush()  # the head of the answer goes first
        _limit_kernel(self.transport)
        self._stop_waiting_for_reader()
        if self._paused:
            writer.pause()
        return self.writes.direct

    def detach(self) -> None:
        self._writer = None
        if self._paused:
            self._wait_for_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._paused = True
        if self._writer is None:
            self._wait_for_reader()
        else:
            self._writer.pause()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._paused = False
        self._stop_waiting_for_reader()
        if self._writer is not None:
            self._writer.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting_for_headers()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)
        self._paused = False
        if self._writer is not None:  # uvicorn tells the last request only, which may wait behind this one
            self._writer.lose()

    def _is_serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_headers(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_since = loop.time()
        self._headers_due = loop.call_later(self.header_seconds, self._drop, "sends no request")

    def _stop_waiting_for_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _wait_for_reader(self) -> None:
        self._reading_due = asyncio.get_running_loop().call_later(self.read_seconds, self._drop, "reads nothing")

    def _stop_waiting_for_reader(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None

    def _make_room(self) -> None:
        """The connection that has been without a request for longest gives way to this one. So clients that open
        connections and send nothing displace each other, and not those who work."""
        idle = {
            connection: connection._idle_since
            for connection in self.server_state.connections
            if isinstance(connection, ConnectionGuard) and connection is not self and connection._idle_since is not None
        }
        if idle:
            min(idle, key=lambda connection: idle[connection]).transport.abort()
            return
        log.warning("connection refused: there are too many", limit=limit_connections())
        self.transport.write(_TOO_MANY)
        self.transport.close()

    def _drop(self, what: str) -> None:
        log.info("connection dropped", client=what)
        self.transport.abort()  # to close it would wait for what the client does not read


def _limit_kernel(transport: asyncio.Transport) -> None:
    """Keeps the kernel from taking megabytes for a client that does not read, and so from hiding whether it reads."""
    taken = transport.get_extra_info("socket")
    if taken is not None and taken.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(AttributeError, OSError):  # not every system knows it
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)


def limit_connections() -> int:
    """CALLBOARD_MAX_CONNECTIONS, or as many as the process may have open files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(get_settings().max_connections, max(files - _OTHER_FILES, 1))


def _build_answer(problem: Problem) -> bytes:
    """Builds an answer that no application has seen, after which the connection is closed."""
    response = problem.to_response()
    headers = complete([*response.raw_headers, (b"connection", b"close")])
    lines = [f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}".encode()]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


_TOO_MANY = _build_answer(Problem("too-many-connections", "Try again in a moment.", headers={"Retry-After": "2"}))
_NOT_HTTP = _build_answer(Problem("bad-request", "This is not an HTTP request, or its headers are too large."))


class H11Connection(ConnectionGuard, H11Protocol):
    """Where httptools is not installed."""


Connection: type[ConnectionGuard] = H11Connection
"""uvicorn's protocol (httptools if it is installed, else h11) with these limits."""

if AutoHTTPProtocol is not H11Protocol:
    Connection = type("Connection", (RequestHeads, ConnectionGuard, AutoHTTPProtocol), {})
