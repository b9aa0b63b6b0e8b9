"""The statuses of a task and the one list of legal moves between them. The database's guard and the sets of statuses in
SQL are made from this file; the diagram in docs/architecture.md is checked against it."""

from typing import Literal, get_args

Status = Literal["scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead"]
Lane = Literal["primary", "retry"]

STATUSES: tuple[Status, ...] = get_args(Status)

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

STARTABLE: frozenset[Status] = frozenset({"scheduled", "queued", "waiting"})
"""The task waits for its start. A new task begins in one of these; a task in one of these can expire."""

TERMINAL: frozenset[Status] = frozenset(status for status in STATUSES if not MOVES[status])
"""Nothing leaves these."""

FINISHED: frozenset[Status] = TERMINAL | {"dead"}
"""The task has ended. A dead one can be revived by a person."""

LIVE: frozenset[Status] = frozenset(STATUSES) - FINISHED
