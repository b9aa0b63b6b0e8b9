"""Serves the metrics of this process. Each worker process of a host takes the first free port from
CALLBOARD_METRICS_PORT on."""

import errno
import socket
import threading
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from broker.metrics.measurements import REGISTRY
from state.logs import log
from state.settings import get_settings

CONNECTIONS = 16  # at once: there is no key, and strangers must not take all open files of a worker
_PORTS = 100  # that are tried: as many processes of one host can be seen


class _Handler(WSGIRequestHandler):
    timeout = 5  # seconds for each read

    def log_message(self, *_: object) -> None:
        """Says nothing: each scrape would be a line."""


class MetricsServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((host, port), _Handler)
        self.set_app(make_wsgi_app(REGISTRY))

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, *_: object) -> None:
        """Says nothing of clients that leave or say nothing."""


def serve_metrics(worker: str) -> None:
    """Starts the server in a thread of its own, if it is asked for. A worker without a port works all the same."""
    settings = get_settings()
    if settings.metrics_port is None:
        return
    for port in range(settings.metrics_port, settings.metrics_port + _PORTS):
        try:
            MetricsServer(settings.metrics_host, port).start()
        except OSError as refused:
            if refused.errno == errno.EADDRINUSE:
                continue
            log.error("no metrics", worker=worker, host=settings.metrics_host, port=port, error=str(refused))
            return
        log.info("metrics", worker=worker, host=settings.metrics_host, port=port)
        return
    log.error("no metrics: no port is free", worker=worker, first=settings.metrics_port, ports=_PORTS)
