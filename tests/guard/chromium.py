"""A real browser, and a server of another origin that hosts a page for it."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_OPTIONS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-component-update", "--disable-sync", "--disable-background-networking", "--no-proxy-server",
    # The browser's own protection of local servers must not hide what ours does.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
]  # fmt: skip


@contextmanager
def browse(url: str, folder: Path) -> Iterator[None]:
    """Opens a page, as if the user had typed its address."""
    assert CHROMIUM is not None
    with (folder / "chromium.log").open("w") as log:
        browser = subprocess.Popen(
            [CHROMIUM, *_OPTIONS, f"--user-data-dir={folder / 'profile'}", url], stdout=log, stderr=log
        )
        try:
            yield
        finally:
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
                browser.wait(10)


class OtherSite:
    """Shows one page, and keeps what the page reports."""

    def __init__(self, page: Path) -> None:
        reports: list[dict[str, Any]] = []
        self.reports = reports

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(page.read_bytes())

            def do_POST(self) -> None:
                reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._send(b"")

            def _send(self, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> "OtherSite":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
