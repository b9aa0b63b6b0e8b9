"""Counts the requests of this process, by operation: a path with ids in it would be a new series for each id."""

import time
from collections.abc import Awaitable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.types import Message, Receive, Scope, Send

from taskapi.api.operation import find_operation
from taskapi.guard.layer import Layer

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_REQUESTS = Counter(
    "callboard_http_requests",
    "Requests that this process has answered.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
_SECONDS = Histogram(
    "callboard_http_request_seconds",
    "From a request to the start of its answer.",
    ["method", "route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
    registry=REGISTRY,
)


# prometheus_client looks for a series under a lock, and turns its labels into texts each time.
_count = cache(_REQUESTS.labels)
_measure = cache(_SECONDS.labels)


class RequestMetrics(Layer):
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        began = time.perf_counter()

        def send_and_note(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                operation = find_operation(scope)
                # Methods and paths that nobody serves are the client's to choose: they are counted together.
                method, route = (operation.method, operation.path) if operation else ("", "")
                _count(method, route, message["status"]).inc()
                _measure(method, route).observe(time.perf_counter() - began)
            return send(message)

        scope.setdefault("state", {})  # shared with the copies that are made of the scope further inside
        return self.app(scope, receive, send_and_note)
