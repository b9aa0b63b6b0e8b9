"""GET /metrics: for Prometheus. What is measured in the database is the same from every server process."""

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from state.metrics.snapshot import Snapshot, take_snapshot
from taskapi.access.authorization import get_access
from taskapi.api.operation import Operation
from taskapi.api.verbs import run_verb
from taskapi.metrics import requests
from taskapi.metrics.system import SystemCollector

_STREAMS = Gauge("callboard_sse_streams", "Open streams of this process.", registry=requests.REGISTRY)


async def get_metrics(request: Request) -> Response:
    system = CollectorRegistry()
    system.register(SystemCollector(await _take_snapshot(request)))
    _STREAMS.set(get_access(request).streams.count())
    text = generate_latest(system) + generate_latest(requests.REGISTRY)
    return Response(text, media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


async def _take_snapshot(request: Request) -> Snapshot:
    """Who asks while a snapshot is being taken gets the same one: among millions of tasks it takes seconds, and many
    scrapes at once must not take all connections."""
    state = request.app.state
    running: asyncio.Task[Snapshot] | None = getattr(state, "snapshot", None)
    if running is None or running.done():
        running = state.snapshot = asyncio.create_task(run_verb(request, take_snapshot))
    return await asyncio.shield(running)


OPERATIONS = [
    Operation(
        "GET",
        "/metrics",
        get_metrics,
        "Measure the system for Prometheus",
        {200: "text/plain"},
        role="reader",
        scope="all",
    ),
]
