"""The changes that operators make to gates at run time."""

from datetime import datetime
from typing import Any

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch
from state.database.notifier import notify_work
from state.errors import GateNotFound, InvalidPayload
from state.gates.reads import find_gate, get_gate
from state.gates.waking import wake
from state.logs import log

_FREE_PREFIXES = ("tenant:", "target:", "queue:")  # such gates may be set before a task has met them
_FIELDS = ("max_concurrent", "rate_count", "rate_seconds", "paused", "closed_until", "breaker_threshold",
           "breaker_volume", "breaker_window", "breaker_seconds")  # fmt: skip
_BREAKER_FIELDS = ("breaker_volume", "breaker_window", "breaker_seconds")
_QUEUE_FIELDS = ("paused", "closed_until")  # nothing is counted there: a claim either skips a queue or does not
_NEW_GATE: Row = {"paused": False, "breaker_volume": 10, "breaker_window": 60, "breaker_seconds": 60}


def put_gate(key: str, *, caller: Caller = SYSTEM, **changes: Any) -> Row:
    """Changes the named fields of a gate. Takes effect at the next claim."""
    require_no_tenant(caller)
    unknown = sorted(changes.keys() - set(_FIELDS))
    if unknown:
        raise InvalidPayload(f"{unknown[0]}: a gate has no such field; it has {', '.join(_FIELDS)}", unknown[0])
    current = find_gate(key)
    has_settings = current is not None and current["has_settings"]
    if not has_settings and (
        not key.startswith(_FREE_PREFIXES) or key.endswith(":") or len(key) > 400 or not key.isprintable()
    ):
        raise GateNotFound(key)
    if key.startswith("queue:"):
        for name in sorted(changes.keys() - set(_QUEUE_FIELDS)):
            if changes[name] is not None:
                raise InvalidPayload(
                    f"{name}: a queue can only be paused or closed; limit the gates of its tasks", name
                )
    wanted = {name: changes.get(name, (current or _NEW_GATE).get(name)) for name in _FIELDS}
    _check(wanted)
    if not has_settings:
        fetch("gate_create", {"key": key})
    fetch("gate_put", {"key": key, "changed": list(changes), "by": caller.name, **wanted})
    log.info("gate changed", gate=key, by=caller.name, **changes)
    wake([key])
    notify_work([key.removeprefix("queue:")] if key.startswith("queue:") else [])
    return get_gate(key)


def reset_gate(key: str, *, caller: Caller = SYSTEM) -> Row:
    """Gives a gate the limit, rate and breaker that the code declares. What the code has never declared, it has none
    of."""
    declared = get_gate(key, caller=caller)
    changes = {name: declared[f"declared_{name}"] for name in ("rate_count", "rate_seconds", "breaker_threshold")}
    if declared["declared_breaker_threshold"] is not None:
        changes |= {name: declared[f"declared_{name}"] for name in _BREAKER_FIELDS}
    return put_gate(key, caller=caller, max_concurrent=declared["declared_concurrent"], **changes)


def _check(wanted: dict[str, Any]) -> None:
    def require(field: str, condition: bool, message: str) -> None:
        if not condition:
            raise InvalidPayload(f"{field}: {message}", field)

    def require_number(field: str, low: float, high: float, *, whole: bool) -> None:
        value = wanted[field]
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        require(field, value is None or (fits and low <= value <= high), f"must be {low:g} to {high:g}, or null")

    require_number("max_concurrent", 0, 1_000_000, whole=True)
    require_number("rate_count", 1, 1_000_000, whole=True)
    require_number("rate_seconds", 0.001, 31_536_000, whole=False)
    require_number("breaker_threshold", 0.001, 1, whole=False)
    for field in _BREAKER_FIELDS:
        require(field, wanted[field] is not None, "cannot be null")
    require_number("breaker_volume", 1, 1_000_000, whole=True)
    require_number("breaker_window", 0.001, 86_400, whole=False)
    require_number("breaker_seconds", 0.001, 86_400, whole=False)
    require("paused", isinstance(wanted["paused"], bool), "must be true or false")
    missing = "rate_seconds" if wanted["rate_seconds"] is None else "rate_count"
    together = (wanted["rate_count"] is None) == (wanted["rate_seconds"] is None)
    require(missing, together, "rate_count and rate_seconds go together")
    until = wanted["closed_until"]
    has_zone = until is None or (isinstance(until, datetime) and until.tzinfo is not None)
    require("closed_until", has_zone, "must be a time with a zone, or null")
