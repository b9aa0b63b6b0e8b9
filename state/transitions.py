"""The one list of legal moves. The database's guard is made from it; README's diagram is checked against it."""

from typing import Literal, get_args

Status = Literal["scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead"]
Lane = Literal["primary", "retry"]

STATUSES: tuple[Status, ...] = get_args(Status)

BIRTHS: frozenset[Status] = frozenset({"scheduled", "queued", "waiting"})

MOVES: dict[Status, frozenset[Status]] = {
    "scheduled": frozenset({"queued", "paused", "canceled", "dead"}),
    "queued": frozenset({"running", "waiting", "paused", "canceled", "dead"}),
    "waiting": frozenset({"queued", "paused", "canceled", "dead"}),
    "running": frozenset({"completed", "scheduled", "queued", "paused", "canceled", "dead"}),
    "paused": frozenset({"queued", "canceled"}),
    "dead": frozenset({"queued", "canceled"}),
    "completed": frozenset(),
    "canceled": frozenset(),
}

FINISHED: frozenset[Status] = frozenset({"completed", "canceled", "dead"})


def is_legal(before: Status, after: Status) -> bool:
    return after in MOVES[before]
