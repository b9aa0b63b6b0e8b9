"""Gates: the named conditions that a task must pass to start. Claims decide at them; here people and code set them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state import jsonsafe
from state.bell import ring_tasks, ring_work
from state.connection import Connection, Parameters, Row
from state.database import connection, fetch, fetch_often, fetch_one, pooled, retrying
from state.errors import GateNotFound, InvalidPayload
from state.settings import get_settings
from state.statements import statement

_PIPELINED = 100  # gates woken in one round trip


@dataclass(frozen=True, slots=True)
class Breaker:
    """Opens when this share of at least `volume` results in `window` seconds are failures of the service, and stays
    open for `seconds`. None: as the settings say (CALLBOARD_BREAKER_…)."""

    threshold: float | None = None
    volume: int | None = None
    window: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.threshold, self.volume, self.window, self.seconds) if value is not None]
        if any(value <= 0 for value in given) or (self.threshold or 0) > 1:
            raise ValueError(f"{self}: all above 0, and the threshold at most 1")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many starts in so many seconds."""

    count: int
    seconds: float

    def __post_init__(self) -> None:
        if self.count < 1 or self.seconds <= 0:
            raise ValueError(f"{self}: at least one start, in more than 0 seconds")


@dataclass(frozen=True, slots=True)
class Gate:
    """What an actor answers for a payload: where it must pass, and how many may be there at once (None: any)."""

    key: str
    limit: int | None = None
    breaker: bool | Breaker = False  # a service behind it may fail: share a circuit breaker
    rate: Rate | None = None

    def declaration(self) -> Row:
        """As a row of the gate's columns."""
        said: Row = {"key": self.key, "max_concurrent": self.limit}
        if self.rate is not None:
            said |= {"rate_count": self.rate.count, "rate_seconds": self.rate.seconds}
        if self.breaker:
            given = self.breaker if isinstance(self.breaker, Breaker) else Breaker()
            for name in Breaker.__slots__:
                value = getattr(given, name)
                said[f"breaker_{name}"] = getattr(get_settings(), f"breaker_{name}") if value is None else value
        return said


def tenant_gate(tenant: str) -> Gate:
    return Gate(f"tenant:{tenant}")


def target_gate(tenant: str | None, target: str) -> Gate:
    """The first slash of the key ends the tenant, whatever characters that has."""
    owner = (tenant or "").replace("%", "%25").replace("/", "%2F")
    return Gate(f"target:{owner}/{target}")


@retrying
def declare(gates: Iterable[Gate]) -> list[Gate]:
    """What the code says. A limit, rate or breaker that an operator has changed stays as it is. Waits for nobody:
    answers the gates that somebody held at this moment, to be declared again soon."""
    by_key: dict[str, Gate] = {}
    for gate in gates:  # several actors may share one
        by_key[gate.key] = _merged(by_key.get(gate.key), gate)
    if not by_key:
        return []
    said = [by_key[key].declaration() for key in sorted(by_key)]
    busy = [row["key"] for row in fetch("gates_declare", {"gates": jsonsafe.dump(said)})]
    return [by_key[key] for key in busy]


def _merged(one: Gate | None, other: Gate) -> Gate:
    if one is None:
        return other
    limits = [limit for limit in (one.limit, other.limit) if limit is not None]
    return Gate(one.key, min(limits, default=None), one.breaker or other.breaker, one.rate or other.rate)


_declared: set[Gate] = set()  # by this process
_REMEMBERED = 10_000


def declare_unseen(gates: Iterable[Gate]) -> None:
    """For gates that an actor names only in its answer to a payload: those with a rate or a breaker are declared when
    this process first meets them. In a transaction of its own; a gate that is busy is declared at the next meeting."""
    unseen = {gate for gate in gates if (gate.breaker or gate.rate) and gate not in _declared}
    if unseen:
        busy = {gate.key for gate in declare(unseen)}
        if len(_declared) > _REMEMBERED:
            _declared.clear()
        _declared.update(gate for gate in unseen if gate.key not in busy)


@retrying
def wake(keys: Iterable[str]) -> set[str]:
    """Something has left these gates: the next of their lines may go. After the commit of what left, never in it. One
    transaction for each gate; answers those that somebody held at this moment, to be woken again soon."""
    wanted = sorted(set(keys))
    if not wanted:
        return set()
    woken, busy = _wake_all(wanted)
    announce_woken(woken)
    return busy


@retrying
def sweep_lines(after: str = "", limit: int = 1000) -> tuple[list[Row], str]:
    """Repairs wake-ups that were lost, and opens gates whose time has come: at the next `limit` gates that have a line,
    in the order of their keys. Answers what was woken and where to go on; "" is the beginning."""
    keys = [row["key"] for row in fetch_often("lines_after", {"after": after, "limit": limit})]
    woken, _ = _wake_all(keys)
    announce_woken(woken)
    return woken, keys[-1] if len(keys) == limit else ""


def _wake_all(keys: Sequence[str]) -> tuple[list[Row], set[str]]:
    woken: list[Row] = []
    busy: set[str] = set()
    with pooled() as own:
        for start in range(0, len(keys), _PIPELINED):
            part = keys[start : start + _PIPELINED]
            part_woken, part_busy = wake_on(own, part)
            woken += part_woken
            busy.update(part_busy)
    return woken, busy


def wake_on(connection: Connection, keys: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Returns what was woken, and the gates that somebody held at this moment."""
    return read_woken(keys, connection.pipeline(wake_calls(keys)))


def wake_calls(keys: Iterable[str]) -> list[tuple[str, Parameters]]:
    return [("wake_gate", {"gate": key}) for key in keys]


def read_woken(keys: Sequence[str], answers: Sequence[list[Row]]) -> tuple[list[Row], list[str]]:
    woken = [row for answer in answers for row in answer if not row["busy"]]
    busy = [key for key, answer in zip(keys, answers, strict=True) if any(row["busy"] for row in answer)]
    return woken, busy


def announce_woken(woken: Sequence[Row]) -> None:
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
_OF_QUEUES = ("paused", "closed_until")  # nothing is counted there: a queue is left out of a claim, or it is not
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
    if key.startswith("queue:"):
        for name in sorted(changes.keys() - set(_OF_QUEUES)):
            if changes[name] is not None:
                raise InvalidPayload(f"{name}: a queue can only be paused or closed; limit its tasks' gates", name)
    wanted = {name: changes.get(name, (current or _FRESH).get(name)) for name in _FIELDS}
    _check(wanted)
    with connection() as used:
        if current is None:
            used.execute(statement("gate_create"), {"key": key})
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
