"""/health for people and monitors, /livez and /readyz for the programs that restart and route."""

import time
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from state.agents.events import explain_missing_vectors
from state.database.errors import DatabaseError
from state.errors import NotReady
from state.logs import log
from state.schema.version import require_current_schema
from state.workers.health import SystemHealth, read_system_health
from taskapi.access.authorization import find_caller
from taskapi.api.bodies import send_json
from taskapi.api.operation import Operation

_STALLED_SECONDS = 60.0
_BREAKER_STATES = ("open", "half_open", "closed")  # the worst first


class DatabaseHealth(BaseModel):
    status: Literal["ok", "down"]
    latency_ms: float | None


class WorkersHealth(BaseModel):
    status: Literal["ok", "none", "unknown"]
    alive: int | None
    seconds_since_seen: float | None


class ConsumptionHealth(BaseModel):
    status: Literal["idle", "moving", "stalled", "unknown"]
    running: int | None
    oldest_queued_seconds: float | None
    last_started_seconds: float | None


class ActorsHealth(BaseModel):
    """A task whose actor no worker knows waits for a worker that knows it."""

    status: Literal["ok", "missing", "unknown"]
    missing: list[str]
    detail: str | None


class RecallHealth(BaseModel):
    """How agent events are searched. Without pgvector, by their words; that does not make the system unhealthy."""

    status: Literal["vector", "text", "unknown"]
    detail: str | None


class HealthComponents(BaseModel):
    database: DatabaseHealth
    workers: WorkersHealth
    circuit_breakers: dict[str, Literal["closed", "open", "half_open"]] = Field(
        description="By gate. Callers who may not see the names of gates get the worst state, as `*`."
    )
    consumption: ConsumptionHealth
    actors: ActorsHealth
    recall: RecallHealth


class Health(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    components: HealthComponents
    timestamp: datetime


class Sign(BaseModel):
    """The answer to a probe."""

    status: str


async def get_health(request: Request) -> Response:
    """Numbers and the names of gates and actors are for callers who may see the system as a whole."""
    caller = await find_caller(request)
    health = await run_in_threadpool(_examine)
    if caller is None or caller.tenant is not None:
        health.components = _show_statuses(health.components)
    return send_json(health, 503 if health.status == "unhealthy" else 200, {"Cache-Control": "no-store"})


async def get_livez(_: Request) -> Response:
    return send_json(Sign(status="alive"))


async def get_readyz(_: Request) -> Response:
    await run_in_threadpool(require_current_schema)
    return send_json(Sign(status="ready"))


def _examine() -> Health:
    began = time.perf_counter()
    try:
        system = read_system_health()
        missing = explain_missing_vectors()
    except (DatabaseError, NotReady) as failure:
        log.warning("unhealthy", error=str(failure).strip())
        return _build_health("unhealthy", _UNKNOWN)
    components = HealthComponents(
        database=DatabaseHealth(status="ok", latency_ms=round((time.perf_counter() - began) * 1000, 3)),
        workers=WorkersHealth(
            status="ok" if system.workers else "none", alive=system.workers, seconds_since_seen=system.silent_seconds
        ),
        circuit_breakers=system.breakers,
        consumption=_examine_consumption(system),
        actors=_examine_actors(system.unknown_actors),
        recall=RecallHealth(status="text" if missing else "vector", detail=missing),
    )
    if system.workers == 0 and system.has_work:
        return _build_health("unhealthy", components)
    healthy = (
        system.workers > 0
        and components.consumption.status != "stalled"
        and all(state == "closed" for state in system.breakers.values())
        and components.actors.status == "ok"
    )
    return _build_health("healthy" if healthy else "degraded", components)


_UNKNOWN = HealthComponents(
    database=DatabaseHealth(status="down", latency_ms=None),
    workers=WorkersHealth(status="unknown", alive=None, seconds_since_seen=None),
    circuit_breakers={},
    consumption=ConsumptionHealth(
        status="unknown", running=None, oldest_queued_seconds=None, last_started_seconds=None
    ),
    actors=ActorsHealth(status="unknown", missing=[], detail=None),
    recall=RecallHealth(status="unknown", detail=None),
)


def _show_statuses(components: HealthComponents) -> HealthComponents:
    """The statuses alone. Of the breakers, the worst state."""
    states = [state for state in _BREAKER_STATES if state in components.circuit_breakers.values()]
    return HealthComponents(
        database=DatabaseHealth(status=components.database.status, latency_ms=None),
        workers=WorkersHealth(status=components.workers.status, alive=None, seconds_since_seen=None),
        circuit_breakers={"*": states[0]} if states else {},
        consumption=ConsumptionHealth(
            status=components.consumption.status,
            running=None,
            oldest_queued_seconds=None,
            last_started_seconds=None,
        ),
        actors=ActorsHealth(status=components.actors.status, missing=[], detail=None),
        recall=RecallHealth(status=components.recall.status, detail=None),
    )


def _examine_actors(missing: list[str]) -> ActorsHealth:
    if not missing:
        return ActorsHealth(status="ok", missing=[], detail=None)
    detail = f"Tasks wait for actors that no worker knows: {', '.join(missing)}. Start a worker that has them."
    return ActorsHealth(status="missing", missing=missing, detail=detail)


def _examine_consumption(system: SystemHealth) -> ConsumptionHealth:
    """A long queue is healthy while tasks of it run. An old queue of which no task starts is stalled."""
    started_lately = system.last_started_seconds is not None and system.last_started_seconds < _STALLED_SECONDS
    waits_long = system.oldest_queued_seconds is not None and system.oldest_queued_seconds >= _STALLED_SECONDS
    moving = system.running > 0 or started_lately
    return ConsumptionHealth(
        status="moving" if moving else "stalled" if waits_long else "idle",
        running=system.running,
        oldest_queued_seconds=system.oldest_queued_seconds,
        last_started_seconds=system.last_started_seconds,
    )


def _build_health(status: Literal["healthy", "degraded", "unhealthy"], components: HealthComponents) -> Health:
    return Health(status=status, components=components, timestamp=datetime.now(UTC))


OPERATIONS = [
    Operation(
        "GET",
        "/health",
        get_health,
        "Show the health of the database, the workers and the queues",
        {200: Health, 503: Health},
        "`unhealthy` (503): the database does not answer, or there is work and no worker. `degraded`: there is no "
        "worker, nothing has started for a minute though something is queued, a circuit breaker is not closed, or "
        "tasks wait for an actor that no worker knows. `healthy`: none of these. Numbers and names are for keys "
        "without a tenant.",
        role="anyone",
        scope="any",
    ),
    Operation("GET", "/livez", get_livez, "Check that this process is alive", {200: Sign}, role="anyone", scope="any"),
    Operation(
        "GET",
        "/readyz",
        get_readyz,
        "Check that this process can serve: the database answers and has the right schema",
        {200: Sign},
        problems=("not-ready",),
        role="anyone",
        scope="any",
    ),
]
