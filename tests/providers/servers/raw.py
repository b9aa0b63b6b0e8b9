"""A TCP listener that does what a test says, byte by byte, and counts who came."""

import contextlib
import re
import socketserver
import ssl
import threading
from collections.abc import Callable
from socket import socket
from typing import Self


class RawServer:
    """`script` gets each connection after its request has been read. Without one it is a mere canary."""

    def __init__(
        self,
        script: Callable[[socket], object] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.connections += 1
                with contextlib.suppress(OSError):
                    outer.requests.append(_read_request(self.request))
                    if script:
                        script(self.request)

        self._server = socketserver.ThreadingTCPServer((host, port), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.origin = f"http://{host}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _read_request(connection: socket) -> bytes:
    """Reads all of it: to close a connection with unread bytes would cut off the answer."""
    request = b""
    while not _is_complete(request):
        received = connection.recv(65536)
        if not received:
            break
        request += received
    return request


def _is_complete(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


def respond(body: bytes = b"", *headers: str, status: str = "200 OK") -> Callable[[socket], None]:
    """A script that sends one answer; without a Content-Length its body ends with the connection."""
    lines = [f"HTTP/1.1 {status}", "Connection: close", *headers, "", ""]
    return lambda connection: connection.sendall("\r\n".join(lines).encode() + body)
