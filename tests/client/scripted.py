"""A server whose answers a test has written down, for what a real one does only under stress."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Scripted:
    status: int
    document: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""

    @property
    def body(self) -> bytes:
        return self.raw or (b"" if self.document is None else json.dumps(self.document).encode())


class ScriptedServer:
    """Answers with the script's entries, one after the other; the last one repeats."""

    def __init__(self, *script: Scripted) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        left = list(script)
        record = self.requests.append

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                record((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                entry = left.pop(0) if len(left) > 1 else left[0]
                self.send_response(entry.status)
                for name, value in entry.headers.items():
                    self.send_header(name, value)
                if entry.status != 204:
                    self.send_header("Content-Length", str(len(entry.body)))
                self.end_headers()
                self.wfile.write(entry.body)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "ScriptedServer":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


Script = Callable[..., ScriptedServer]
