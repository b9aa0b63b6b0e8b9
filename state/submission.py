"""Submit: a task is accepted when this commits, and from then on it ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from state import catalog, jsonsafe
from state.bell import ring_work
from state.database import connection, fetch, retrying
from state.errors import InvalidPayload
from state.ids import new_task_id
from state.logs import log_transitions
from state.tasks import Task, get_task

CHUNK = 1000
_FAR = 10 * 365 * 24 * 3600.0  # seconds; beyond this a delay is a mistake


@dataclass(frozen=True, slots=True)
class NewTask:
    """What somebody asks for. What is left out, the actor's declaration says."""

    actor: str
    payload: Any
    queue: str | None = None
    priority: int = 2
    max_attempts: int | None = None
    delay_seconds: float | None = None
    available_at: datetime | None = None
    max_age_seconds: float | None = None
    tenant: str | None = None

    def row(self) -> dict[str, Any]:
        """The row to insert; raises UnknownActor or InvalidPayload, and then nothing was written."""
        spec = catalog.get(self.actor)
        self._check()
        return {
            "id": new_task_id(),
            "actor": spec.name,
            "queue": self.queue or spec.queue,
            "priority": self.priority,
            "tenant": self.tenant,
            "payload": spec.validate(self.payload),
            "max_attempts": self.max_attempts or spec.max_attempts,
            "delay_seconds": self.delay_seconds,
            "available_at": self.available_at.isoformat() if self.available_at else None,
            "max_age_seconds": self.max_age_seconds if self.max_age_seconds is not None else spec.max_age(),
        }

    def _check(self) -> None:
        def require(field: str, fine: bool, message: str) -> None:
            if not fine:
                raise InvalidPayload(f"{field}: {message}", field)

        require("priority", 0 <= self.priority <= 3, "must be 0 (first) to 3")
        require("max_attempts", self.max_attempts is None or 1 <= self.max_attempts <= 1000, "must be 1 to 1000")
        for field in ("delay_seconds", "max_age_seconds"):
            value = getattr(self, field)
            require(field, value is None or 0 <= value <= _FAR, f"must be 0 to {_FAR:g} seconds")
        require(
            "available_at",
            self.available_at is None or self.available_at.tzinfo is not None,
            "needs a time zone",
        )
        require(
            "available_at",
            self.delay_seconds is None or self.available_at is None,
            "give it or delay_seconds",
        )
        for field in ("queue", "tenant"):
            value = getattr(self, field)
            require(
                field,
                value is None or (0 < len(value) <= 200 and value.isprintable()),
                "must be 1 to 200 characters",
            )


def submit(actor: str, payload: Any, *, conn: psycopg.Connection[Any] | None = None, **options: Any) -> Task:
    """Accepts one task. With `conn`, inside the caller's own transaction: it exists if that commits."""
    return submit_new(NewTask(actor, payload, **options), conn=conn)


def submit_new(new: NewTask, *, conn: psycopg.Connection[Any] | None = None) -> Task:
    row = new.row()
    inserted = _insert([row], conn=conn)
    # No row: an earlier try had committed before its connection was lost.
    return Task.from_row(inserted[0]) if inserted else get_task(row["id"])


def submit_many(tasks: Iterable[NewTask], *, conn: psycopg.Connection[Any] | None = None) -> list[str]:
    """Accepts many tasks, or none: they commit together. Answers their ids in order."""
    rows = [task.row() for task in tasks]
    if conn is None and len(rows) > CHUNK:
        with connection() as own, own.transaction():
            for chunk in _chunks(rows):
                _insert(chunk, conn=own)
        ring_work({row["queue"] for row in rows})
    else:
        for chunk in _chunks(rows):
            _insert(chunk, conn=conn)
    return [row["id"] for row in rows]


def _chunks(rows: Sequence[dict[str, Any]]) -> list[Sequence[dict[str, Any]]]:
    return [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]


@retrying
def _insert(rows: Sequence[dict[str, Any]], *, conn: psycopg.Connection[Any] | None) -> list[dict[str, Any]]:
    inserted = fetch("submit", {"tasks": jsonsafe.dump(rows)}, conn)
    log_transitions(inserted, **{"from": None})
    if conn is None:  # otherwise it is not committed yet, and the poll finds it
        ring_work({row["queue"] for row in inserted})
    return inserted
