"""How the whole system is doing, in one statement."""

from dataclasses import dataclass

from state.database.pool import get_database
from state.database.statements import statement
from state.errors import NotReady
from state.settings import get_settings

_PATIENCE = 3.0  # seconds: whoever asks after health wants to know now


@dataclass(frozen=True, slots=True)
class Vitals:
    workers: int
    silent_seconds: float | None  # since the worker seen last was seen
    running: int
    oldest_queued_seconds: float | None
    last_started_seconds: float | None
    breakers: dict[str, str]  # state by gate
    unknown_actors: list[str]  # that tasks wait for


def get_vitals() -> Vitals:
    """Not retried: that the database does not answer is the answer."""
    with get_database().pool().connection(timeout=_PATIENCE) as connection:
        row = connection.execute(statement("vitals"), {"lease_seconds": get_settings().lease_seconds}).fetchone()
    if row is None:
        raise NotReady("The database does not answer.")
    return Vitals(**row)
