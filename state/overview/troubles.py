"""What is wrong at the moment, in sentences: what, since when, what it costs, what to do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from state.database import Row
from state.settings import get_settings
from state.transitions import Status

Kind = Literal[
    "no-worker", "no-maintainer", "queue-without-worker", "breaker-open", "unknown-actor", "stalled", "late",
    "gate-closed", "queue-paused",
]  # fmt: skip

STALLED_SECONDS = 60.0
LATE_SECONDS = 300.0
_UNMAINTAINED_SECONDS = 10.0  # another worker takes over within 5


@dataclass(frozen=True, slots=True)
class Trouble:
    kind: Kind
    title: str
    detail: str  # what it costs
    advice: str  # what to do
    since: datetime | None = None
    ends_at: datetime | None = None  # when it will be over, or tried again
    subject: str | None = None  # the gate, the queue or the actor
    tasks: int = 0  # that it holds up


def find_troubles(
    system: Row,
    states: Mapping[Status, int | None],
    queues: Sequence[Row],
    gates: Sequence[Row],
    unknown: Sequence[Row],
    pace: float,
) -> list[Trouble]:
    """The worst first. `pace`: starts a minute. Takes what the statements of the overview return, for one scope."""
    if system["workers"] == 0:
        return [_describe_no_worker(system, states), *_examine_gates(gates)]
    return [
        *_examine_maintainer(system),
        *_examine_queues(queues),
        *_examine_actors(unknown),
        *_examine_gates(gates),
        *_examine_starts(system, states, queues, pace),
        *_examine_pauses(queues),
    ]


def _describe_no_worker(system: Row, states: Mapping[Status, int | None]) -> Trouble:
    names: tuple[Status, ...] = ("queued", "running", "scheduled", "waiting")
    held = {name: states[name] or 0 for name in names}
    kept = (
        f"{_count(held['queued'], 'task', 'tasks')} queued, {held['running']} interrupted"
        if sum(held.values())
        else "No task waits"
    )
    return Trouble(
        "no-worker",
        "No worker is alive." if system["last_seen_at"] else "There has never been a worker.",
        f"Nothing starts and nothing goes on: {kept}; none is lost." if sum(held.values()) else f"{kept}.",
        "Start workers: `dramatiq actors`, or `callboard up`, which also starts a server.",
        since=system["last_seen_at"],
        tasks=sum(held.values()),
    )


def _examine_maintainer(system: Row) -> Iterator[Trouble]:
    since = max(filter(None, (system["maintained_until"], system["working_since"])))
    if not system["maintained"] and system["at"] - since > timedelta(seconds=_UNMAINTAINED_SECONDS):
        yield Trouble(
            "no-maintainer",
            "Nobody does the housekeeping.",
            "Retries that are due do not start, and tasks of workers that have died stay where they are.",
            "One of the workers should have taken it over: look at their logs, and restart them.",
            since=since,
        )


def _examine_queues(queues: Sequence[Row]) -> Iterator[Trouble]:
    for row in queues:
        queued = row["primary"] + row["retry"]
        if queued and not row["consumed"]:
            yield Trouble(
                "queue-without-worker",
                f"No worker takes tasks of the queue {row['queue']}.",
                f"{_count(queued, 'task of it', 'tasks of it')} cannot start.",
                f"Start workers for it: `dramatiq actors --queues {row['queue']}`, or workers of all queues.",
                subject=row["queue"],
                tasks=queued,
            )


def _examine_actors(unknown: Sequence[Row]) -> Iterator[Trouble]:
    for row in unknown:
        minutes = get_settings().unknown_actor_seconds / 60
        held = _count(row["tasks"], "task of it", "tasks of it")
        yield Trouble(
            "unknown-actor",
            f"No worker knows the actor {row['actor']}.",
            f"{held} cannot start; after {minutes:.0f} minutes of waiting each is dead.",
            "Start a worker whose CALLBOARD_ACTORS names the module of this actor.",
            since=row["since"],
            subject=row["actor"],
            tasks=row["tasks"],
        )


def _examine_gates(gates: Sequence[Row]) -> Iterator[Trouble]:
    for row in gates:
        name = row["key"].removeprefix("provider:")
        waiting = _count(row["waiting"], "task waits", "tasks wait")
        if row["breaker_state"] != "closed":
            changed: datetime = row["breaker_changed_at"]
            is_open = row["breaker_state"] == "open"
            yield Trouble(
                "breaker-open",
                f"{name} does not work." if is_open else f"{name} is being tried again.",
                f"{_describe_failures(row)}{waiting} there; no attempt is spent.",
                "It recovers by itself when a probe succeeds."
                if is_open
                else "One task probes it; the others follow if it succeeds.",
                since=changed,
                ends_at=changed + timedelta(seconds=row["breaker_seconds"]) if is_open else None,
                subject=row["key"],
                tasks=row["waiting"],
            )
        elif row["waiting"] and not row["key"].startswith("queue:") and (row["paused"] or row["closed_until"]):
            yield Trouble(
                "gate-closed",
                f"{name} is paused." if row["paused"] else f"{name} is closed for a while.",
                f"{waiting} there.",
                "Resume the gate to let them start." if row["paused"] else "It opens by itself.",
                ends_at=None if row["paused"] else row["closed_until"],
                subject=row["key"],
                tasks=row["waiting"],
            )


def _describe_failures(row: Row) -> str:
    if not row["failed"]:
        return ""
    error = f", the last with {row['error_type']}" if row["error_type"] else ""
    return f"{row['failed']} of {row['results']} tasks failed there{error}. "


def _examine_starts(
    system: Row, states: Mapping[Status, int | None], queues: Sequence[Row], pace: float
) -> Iterator[Trouble]:
    """Of the queues whose tasks could start."""
    open_queues = [row for row in queues if row["consumed"] and not row["paused"] and row["oldest_seconds"] is not None]
    oldest = max((row["oldest_seconds"] for row in open_queues), default=0.0)
    queued = sum(row["primary"] + row["retry"] for row in open_queues)
    started: datetime | None = system["last_started_at"]
    moving = bool(states["running"]) or (
        started is not None and system["at"] - started < timedelta(seconds=STALLED_SECONDS)
    )
    common: dict[str, Any] = {"since": system["at"] - timedelta(seconds=oldest), "tasks": queued}
    if oldest >= STALLED_SECONDS and not moving:
        yield Trouble(
            "stalled",
            "Nothing starts.",
            f"Workers are alive, but none has started any of {_count(queued, 'queued task', 'queued tasks')}.",
            "Look at the logs of the workers.",
            **common,
        )
    elif oldest >= LATE_SECONDS:
        left = (
            f" At the pace of the last minutes, the last of them starts in {_say_minutes(queued / pace)}."
            if pace
            else ""
        )
        yield Trouble(
            "late",
            "Tasks start late.",
            f"{_count(queued, 'task is', 'tasks are')} queued.{left}",
            "Start more workers, or give each more places (CALLBOARD_THREADS, CALLBOARD_COROUTINES).",
            **common,
        )


def _examine_pauses(queues: Sequence[Row]) -> Iterator[Trouble]:
    for row in queues:
        queued = row["primary"] + row["retry"]
        if row["paused"] and queued:
            yield Trouble(
                "queue-paused",
                f"The queue {row['queue']} is paused.",
                f"{_count(queued, 'task of it stays', 'tasks of it stay')} queued.",
                "Resume it to let them start.",
                subject=row["queue"],
                tasks=queued,
            )


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _say_minutes(minutes: float) -> str:
    return f"about {minutes / 60:.0f} h" if minutes >= 120 else f"about {max(minutes, 1):.0f} min"
