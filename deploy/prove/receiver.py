"""A receiver of webhooks that writes down each delivery it has accepted. It refuses some of them at first."""

import hashlib
import json
import socketserver
import threading
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

_REFUSED = 16  # one of so many messages is refused when it first comes


@dataclass(frozen=True, slots=True)
class Delivery:
    id: str
    task: str
    n: int
    body: str  # its hash


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        accepted = self.server.note(self.headers["webhook-id"], body)
        self.send_response(204 if accepted else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.deliveries: list[Delivery] = []
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, message: str, body: bytes) -> bool:
        digest = hashlib.sha256(body).hexdigest()
        with self._lock:
            self._seen[message] += 1
            if self._seen[message] == 1 and hashlib.sha256(message.encode()).digest()[0] % _REFUSED == 0:
                return False
            data = json.loads(body)["data"]
            self.deliveries.append(Delivery(message, data["task_id"], data["n"], digest))
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """Connections of killed workers break all the time."""

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without the look-up of the own name
        self.server_name, self.server_port = "localhost", self.server_address[1]


class Receiver:
    def __init__(self) -> None:
        self._server = _Server()
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}/hooks"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def deliveries(self) -> list[Delivery]:
        return list(self._server.deliveries)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
