"""What the code declares of gates: concurrency, rates and breakers, at boot and in an actor's answer to a payload."""

from collections.abc import Iterable
from dataclasses import dataclass

from state import jsonsafe
from state.database.connection import Row
from state.database.pool import fetch, retrying
from state.settings import get_settings


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
