"""The health of the whole system, read in one statement."""

from dataclasses import dataclass
from typing import Literal

from state.database import fetch_one
from state.errors import NotReady
from state.settings import get_settings

_TIMEOUT = 3.0  # seconds to wait for a connection: a health check must answer soon


@dataclass(frozen=True, slots=True)
class SystemHealth:
    workers: int
    silent_seconds: float | None  # since a worker was last seen
    running: int
    has_work: bool  # a task is queued, due, in a line or running
    oldest_queued_seconds: float | None
    last_started_seconds: float | None
    breakers: dict[str, Literal["closed", "open", "half_open"]]  # state by gate
    unknown_actors: list[str]  # that tasks wait for


def read_system_health() -> SystemHealth:
    """Not retried: that the database does not answer is a result."""
    row = fetch_one("system_health", {"lease_seconds": get_settings().lease_seconds}, timeout=_TIMEOUT)
    if row is None:
        raise NotReady("The database does not answer.")
    return SystemHealth(**row)
