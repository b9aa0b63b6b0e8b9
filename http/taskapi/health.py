"""/health for people and monitors, /livez and /readyz for whoever restarts and routes."""

import time
from datetime import UTC, datetime
from typing import Literal

import psycopg
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from state.errors import NotReady
from state.logs import log
from state.schema.version import require_current_schema
from state.workers.health import Vitals, get_vitals
from taskapi.views import (
    ActorsHealth,
    ConsumptionHealth,
    DatabaseHealth,
    Health,
    HealthComponents,
    Sign,
    WorkersHealth,
    answer,
)

_STALLED_SECONDS = 60.0


async def get_health(_: Request) -> Response:
    health = await run_in_threadpool(_examine)
    return answer(health, 503 if health.status == "unhealthy" else 200, {"Cache-Control": "no-store"})


async def get_livez(_: Request) -> Response:
    return answer(Sign(status="alive"))


async def get_readyz(_: Request) -> Response:
    await run_in_threadpool(require_current_schema)
    return answer(Sign(status="ready"))


def _examine() -> Health:
    began = time.perf_counter()
    try:
        vitals = get_vitals()
    except (psycopg.Error, NotReady) as failure:
        log.warning("unhealthy", error=str(failure).strip())
        return _health(
            "unhealthy",
            DatabaseHealth(status="down", latency_ms=None),
            WorkersHealth(status="unknown", alive=None, seconds_since_seen=None),
            ConsumptionHealth(status="unknown", running=None, oldest_queued_seconds=None, last_started_seconds=None),
            {},
            ActorsHealth(status="unknown", missing=[], detail=None),
        )
    database = DatabaseHealth(status="ok", latency_ms=round((time.perf_counter() - began) * 1000, 3))
    workers = WorkersHealth(
        status="ok" if vitals.workers else "none", alive=vitals.workers, seconds_since_seen=vitals.silent_seconds
    )
    consumption = _consumption(vitals)
    open_breakers = [gate for gate, state in vitals.breakers.items() if state != "closed"]
    actors = _actors(vitals.unknown_actors)
    well = vitals.workers > 0 and consumption.status != "stalled" and not open_breakers and actors.status == "ok"
    return _health("healthy" if well else "degraded", database, workers, consumption, vitals.breakers, actors)


def _actors(missing: list[str]) -> ActorsHealth:
    if not missing:
        return ActorsHealth(status="ok", missing=[], detail=None)
    detail = f"Tasks wait for actors that no worker knows: {', '.join(missing)}. Start a worker that has them."
    return ActorsHealth(status="missing", missing=missing, detail=detail)


def _consumption(vitals: Vitals) -> ConsumptionHealth:
    """A long queue is no fault as long as somebody works on it; an old one that nobody touches is."""
    lately = vitals.last_started_seconds is not None and vitals.last_started_seconds < _STALLED_SECONDS
    waits = vitals.oldest_queued_seconds is not None and vitals.oldest_queued_seconds >= _STALLED_SECONDS
    moving = vitals.running > 0 or lately
    return ConsumptionHealth(
        status="moving" if moving else "stalled" if waits else "idle",
        running=vitals.running,
        oldest_queued_seconds=vitals.oldest_queued_seconds,
        last_started_seconds=vitals.last_started_seconds,
    )


def _health(
    status: Literal["healthy", "degraded", "unhealthy"],
    database: DatabaseHealth,
    workers: WorkersHealth,
    consumption: ConsumptionHealth,
    breakers: dict[str, str],
    actors: ActorsHealth,
) -> Health:
    components = HealthComponents(
        database=database, workers=workers, circuit_breakers=breakers, consumption=consumption, actors=actors
    )
    return Health(status=status, components=components, timestamp=datetime.now(UTC))
