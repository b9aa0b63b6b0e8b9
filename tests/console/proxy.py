"""A proxy that serves everything below a path: it strips the prefix, and does no more."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OF_CONNECTIONS = ("connection", "keep-alive", "transfer-encoding")


@contextmanager
def serve_below(prefix: str, port: int) -> Iterator[str]:
    """Yields the address below which everything of the server at `port` is."""

    class Proxy(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            if not self.path.startswith(prefix):
                return self.send_error(404)
            length = int(self.headers.get("Content-Length", 0))
            connection = http.client.HTTPConnection("127.0.0.1", port)
            try:
                path = self.path.removeprefix(prefix.rstrip("/"))
                connection.request(self.command, path, self.rfile.read(length) or None, dict(self.headers.items()))
                self._answer(connection.getresponse())
            except OSError:
                self.close_connection = True  # the browser has left
            finally:
                connection.close()

        def _answer(self, response: http.client.HTTPResponse) -> None:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in _OF_CONNECTIONS:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while part := response.read1():  # as it comes: streams have no end
                self.wfile.write(part)

        do_GET = do_HEAD = do_POST = _pass_on  # noqa: N815  (named by the base)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{prefix}"
        finally:
            server.shutdown()
