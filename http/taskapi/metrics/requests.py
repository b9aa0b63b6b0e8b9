"""Counts the requests of this process, by operation: a path with ids in it would be a new series for each id."""

import time

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


class RequestMetrics(Layer):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()

        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start":
                operation = find_operation(scope)
                # Methods and paths that nobody serves are the client's to choose: they are counted together.
                method, route = (operation.method, operation.path) if operation else ("", "")
                _REQUESTS.labels(method, route, message["status"]).inc()
                _SECONDS.labels(method, route).observe(time.perf_counter() - began)
            await send(message)

        scope.setdefault("state", {})  # shared with the copies that are made of the scope further inside
        await self.app(scope, receive, send_and_note)
