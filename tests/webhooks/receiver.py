"""A receiver of webhooks that behaves as a test says, well or badly."""

import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        received = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        with self.server.lock:
            self.server.received.append(received)
            behave = self.server.answers.popleft() if self.server.answers else answer(204)
        self.close_connection = True
        behave(self)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


Behavior = Callable[[Exchange], None]


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024  # the default of 5 drops connections that come at once; trying again takes seconds
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.lock = threading.Lock()
        self.received: list[Received] = []
        self.answers: deque[Behavior] = deque()

    def handle_error(self, *_: object) -> None:
        """Connections break here all the time."""


class Receiver:
    """Answers 204, unless there is something in `answers`: each is for one request."""

    def __init__(self) -> None:
        self._server = _Server()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/hooks?source=callboard"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def received(self) -> list[Received]:
        with self._server.lock:
            return list(self._server.received)

    def will(self, *behaviors: Behavior) -> None:
        with self._server.lock:
            self._server.answers.extend(behaviors)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def answer(status: int, body: bytes = b"", **headers: str) -> Behavior:
    def behave(exchange: Exchange) -> None:
        exchange.send_response(status)
        for name, value in headers.items():
            exchange.send_header(name.replace("_", "-"), value)
        exchange.send_header("Content-Length", str(len(body)))
        exchange.end_headers()
        exchange.wfile.write(body)

    return behave


def wait_for_the_client(exchange: Exchange) -> None:
    """Returns when the client has closed the connection."""
    exchange.connection.settimeout(60)
    while exchange.connection.recv(4096):
        pass


def hang(exchange: Exchange) -> None:
    wait_for_the_client(exchange)


def answer_too_late(exchange: Exchange) -> None:
    """Accepts the message, but only when the sender has given up."""
    wait_for_the_client(exchange)
    answer(200)(exchange)


def trickle(exchange: Exchange) -> None:
    """Sends one byte of its status line after the other, so that no single read takes long."""
    released = threading.Event()
    try:
        for byte in b"HTTP/1.1 200 OK" + b" " * 100_000:
            exchange.connection.sendall(bytes([byte]))
            released.wait(0.02)
    except OSError:
        return


def close(exchange: Exchange) -> None:
    """Says nothing and goes."""
    exchange.connection.shutdown(socket.SHUT_RDWR)


def answer_without_end(exchange: Exchange) -> None:
    """Accepts the message with a body that never ends."""
    exchange.connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    try:
        while True:
            exchange.connection.sendall(b"x" * 65536)
    except OSError:
        return
