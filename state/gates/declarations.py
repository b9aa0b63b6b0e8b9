"""Declarations of gates in code: limits, rates and breakers, at boot or for a single payload."""

from collections.abc import Iterable
from dataclasses import dataclass

from state import jsonsafe
from state.database import Row, fetch, retrying
from state.settings import get_settings

TARGET_PREFIX = "target:"


@dataclass(frozen=True, slots=True)
class Breaker:
    """A circuit breaker. Opens if this share (`threshold`) of at least `volume` results in `window` seconds are
    failures of the service, and stays open for `seconds`. None: the value of the setting CALLBOARD_BREAKER_…"""

    threshold: float | None = None
    volume: int | None = None
    window: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.threshold, self.volume, self.window, self.seconds) if value is not None]
        if any(value <= 0 for value in given) or (self.threshold or 0) > 1:
            raise ValueError(f"{self}: all values must be above 0, and the threshold at most 1")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts in `seconds`."""

    count: int
    seconds: float

    def __post_init__(self) -> None:
        if self.count < 1 or self.seconds <= 0:
            raise ValueError(f"{self}: count must be at least 1, and seconds above 0")


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that a task must pass, and how many tasks may run behind it at once (None: any number)."""

    key: str
    limit: int | None = None
    breaker: bool | Breaker = False  # all tasks share a circuit breaker for the service behind the gate
    rate: Rate | None = None

    def to_row(self) -> Row:
        """Returns the columns that the gate declares."""
        row: Row = {"key": self.key, "max_concurrent": self.limit}
        if self.rate is not None:
            row |= {"rate_count": self.rate.count, "rate_seconds": self.rate.seconds}
        if self.breaker:
            breaker = self.breaker if isinstance(self.breaker, Breaker) else Breaker()
            for name in Breaker.__slots__:
                value = getattr(breaker, name)
                row[f"breaker_{name}"] = getattr(get_settings(), f"breaker_{name}") if value is None else value
        return row


def make_tenant_gate(tenant: str) -> Gate:
    return Gate(f"tenant:{tenant}")


def make_target_gate(tenant: str | None, target: str) -> Gate:
    """The tenant ends at the first slash of the key: slashes in its own name are escaped."""
    owner = (tenant or "").replace("%", "%25").replace("/", "%2F")
    return Gate(f"{TARGET_PREFIX}{owner}/{target}")


@retrying
def declare(gates: Iterable[Gate]) -> list[Gate]:
    """Writes what the code declares. A limit, rate or breaker that an operator has changed stays as it is. Does not
    wait for locks: returns the gates that were locked, to be declared again soon."""
    by_key: dict[str, Gate] = {}
    for gate in gates:  # several actors may share one
        by_key[gate.key] = _merge(by_key.get(gate.key), gate)
    if not by_key:
        return []
    rows = [by_key[key].to_row() for key in sorted(by_key)]
    locked = [row["key"] for row in fetch("gates_declare", {"gates": jsonsafe.dump(rows)})]
    return [by_key[key] for key in locked]


def _merge(one: Gate | None, other: Gate) -> Gate:
    if one is None:
        return other
    limits = [limit for limit in (one.limit, other.limit) if limit is not None]
    return Gate(one.key, min(limits, default=None), one.breaker or other.breaker, one.rate or other.rate)


_declared: set[Gate] = set()  # by this process
_REMEMBERED = 10_000


def find_undeclared(gates: Iterable[Gate]) -> set[Gate]:
    """Returns the gates that `declare_unseen` would declare."""
    return {gate for gate in gates if (gate.breaker or gate.rate) and gate not in _declared}


def declare_unseen(gates: Iterable[Gate]) -> None:
    """Declares gates that an actor names for a payload only: those with a rate or a breaker, when this process first
    meets them. In a transaction of its own; a gate that is locked is declared when it is met again."""
    if unseen := find_undeclared(gates):
        locked = {gate.key for gate in declare(unseen)}
        if len(_declared) > _REMEMBERED:
            _declared.clear()
        _declared.update(gate for gate in unseen if gate.key not in locked)
