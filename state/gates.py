"""Gates: the named conditions that a task must pass to start. Claims decide at them; here people and code set them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state.bell import ring_tasks, ring_work
from state.connection import Row
from state.database import connection, fetch, fetch_often, fetch_one, retrying
from state.errors import GateNotFound, InvalidPayload
from state.statements import statement


@dataclass(frozen=True, slots=True)
class Gate:
    """What an actor answers for a payload: where it must pass, and how many may be there at once (None: any)."""

    key: str
    limit: int | None = None
    breaker: bool = False  # a service behind it may fail: share a circuit breaker


def tenant_gate(tenant: str) -> Gate:
    return Gate(f"tenant:{tenant}")


def target_gate(tenant: str | None, target: str) -> Gate:
    return Gate(f"target:{tenant or ''}/{target}")


@retrying
def declare(gates: Iterable[Gate]) -> None:
    """What the code says. A limit that an operator has changed stays as it is."""
    by_key = {gate.key: gate for gate in gates}  # several actors may share one
    rows = [by_key[key] for key in sorted(by_key)]
    with connection() as used:
        used.execute(
            statement("gates_declare"),
            {
                "keys": [gate.key for gate in rows],
                "limits": [gate.limit for gate in rows],
                "breakers": [0.5 if gate.breaker else None for gate in rows],
            },
        )


@retrying
def wake(keys: Iterable[str]) -> None:
    """Something has left these gates: the next of their lines may go. After the commit of what left, never in it."""
    wanted = sorted(set(keys))
    if wanted:
        _announce(fetch("wake", {"gates": wanted}))


@retrying
def sweep_lines() -> list[Row]:
    """Repairs wake-ups that were lost, and opens gates whose time has come."""
    woken = fetch_often("sweep_lines", {})
    _announce(woken)
    return woken


def _announce(woken: list[Row]) -> None:
    if woken:
        ring_work({row["queue"] for row in woken})
        ring_tasks(row["id"] for row in woken)


@retrying
def list_gates() -> list[Row]:
    return fetch("gates", {"key": None})


@retrying
def get_gate(key: str) -> Row:
    row = fetch_one("gates", {"key": key})
    if row is None:
        raise GateNotFound(key)
    return row


_FREE_PREFIXES = ("tenant:", "target:", "queue:")  # these may be set before anything has passed them
_FIELDS = ("max_concurrent", "rate_count", "rate_seconds", "paused", "closed_until", "breaker_threshold",
           "breaker_volume", "breaker_window", "breaker_seconds")  # fmt: skip


_FRESH: Row = {"paused": False, "breaker_volume": 10, "breaker_window": 60, "breaker_seconds": 60}


def put_gate(key: str, **changes: Any) -> Row:
    """Changes a gate at run time; what is not named stays. Takes effect at the next claim."""
    unknown = sorted(changes.keys() - set(_FIELDS))
    if unknown:
        raise InvalidPayload(f"{unknown[0]}: a gate has no such field; it has {', '.join(_FIELDS)}", unknown[0])
    current = fetch_one("gates", {"key": key})
    if current is None and (
        not key.startswith(_FREE_PREFIXES) or key.endswith(":") or len(key) > 400 or not key.isprintable()
    ):
        raise GateNotFound(key)
    wanted = {name: changes.get(name, (current or _FRESH).get(name)) for name in _FIELDS}
    _check(wanted)
    if current is None:
        declare([Gate(key)])
    with connection() as used:
        used.execute(statement("gate_put"), {"key": key, "changed": list(changes), **wanted})
    wake([key])
    ring_work([key.removeprefix("queue:")] if key.startswith("queue:") else [])
    return get_gate(key)


def _check(wanted: dict[str, Any]) -> None:
    def require(field: str, fine: bool, message: str) -> None:
        if not fine:
            raise InvalidPayload(f"{field}: {message}", field)

    def number(field: str, low: float, high: float, *, whole: bool) -> None:
        value = wanted[field]
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        require(field, value is None or (fits and low <= value <= high), f"must be {low:g} to {high:g}, or null")

    number("max_concurrent", 0, 1_000_000, whole=True)
    number("rate_count", 1, 1_000_000, whole=True)
    number("rate_seconds", 0.001, 31_536_000, whole=False)
    number("breaker_threshold", 0.001, 1, whole=False)
    for field in ("breaker_volume", "breaker_window", "breaker_seconds"):
        require(field, wanted[field] is not None, "cannot be null")
    number("breaker_volume", 1, 1_000_000, whole=True)
    number("breaker_window", 0.001, 86_400, whole=False)
    number("breaker_seconds", 0.001, 86_400, whole=False)
    require("paused", isinstance(wanted["paused"], bool), "must be true or false")
    missing = "rate_seconds" if wanted["rate_seconds"] is None else "rate_count"
    together = (wanted["rate_count"] is None) == (wanted["rate_seconds"] is None)
    require(missing, together, "rate_count and rate_seconds go together")
    until = wanted["closed_until"]
    zoned = until is None or (isinstance(until, datetime) and until.tzinfo is not None)
    require("closed_until", zoned, "must be a time with a zone, or null")


@retrying
def heed_retry_after(task_id: str, seconds: float) -> None:
    """The service that this task uses asked for a pause. It asks everybody: the others wait at its gate, and burn no
    attempt."""
    with connection() as used:
        used.execute(statement("gates_close"), {"task": task_id, "seconds": seconds})
