"""Dead letters in groups: those whose errors are of one type and have the same message, apart from ids, numbers and the
like. The database says what is the same: `state/tables/error_groups.sql`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Unpack

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, retrying
from state.tasks.deadletters import Filter, get_moment_before, make_filter

HOURS = 24  # of the trend
_DEFAULT_LIMIT = 50

_fetch = retrying(fetch)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    fingerprint: str
    error_type: str | None
    message: str | None  # of the newest dead letter
    normalized_message: str | None
    task_id: str  # the newest dead letter
    tasks: int
    counted_all: bool  # False: there are more, which were not counted
    actors: list[Row]  # actor, tasks; most tasks first
    first_seen: datetime
    last_seen: datetime
    trend: list[int | None]  # deaths in each of the last HOURS hours, oldest first; None: not all of them were counted


def list_error_groups(
    *, before: str | None = None, limit: int = _DEFAULT_LIMIT, caller: Caller = SYSTEM, **filters: Unpack[Filter]
) -> list[ErrorGroup]:
    """The groups of the dead letters that match, that with the newest one first. `before`: the newest dead letter of
    the last group of the previous page. Of many dead letters only the newest are counted."""
    older_than = filters.get("older_than")
    wanted = make_filter(filters, get_moment_before(older_than) if older_than else None, caller)
    rows = _fetch("error_groups", {"wanted": wanted, "before": before, "limit": limit})
    return [_add_up(list(kinds)) for _, kinds in groupby(rows, key=lambda row: row["id"])]


def _add_up(kinds: list[Row]) -> ErrorGroup:
    """Makes one group of the kinds of tasks in it."""
    first = kinds[0]
    actors: Counter[str] = Counter()
    for row in kinds:
        actors[row["actor"]] += row["tasks"]
    return ErrorGroup(
        fingerprint=first["fingerprint"],
        error_type=first["error_type"],
        message=first["message"],
        normalized_message=first["normalized"],
        task_id=first["id"],
        tasks=actors.total(),
        counted_all=all(row["oldest_seen"] is None for row in kinds),
        actors=[{"actor": actor, "tasks": tasks} for actor, tasks in actors.most_common()],
        first_seen=min(moment for row in kinds for moment in (row["first_seen"], row["oldest_seen"]) if moment),
        last_seen=max(row["last_seen"] for row in kinds),
        trend=_make_trend(kinds),
    )


def _make_trend(kinds: Iterable[Row]) -> list[int | None]:
    deaths: Counter[int] = Counter()
    known = HOURS
    for row in kinds:
        hours = {int(hour): tasks for hour, tasks in row["hours"].items()}
        deaths.update(hours)
        if row["oldest_seen"] is not None:
            known = min(known, max(hours))  # what died before the newest that were counted is not known
    return [deaths[hour] if hour < known else None for hour in reversed(range(HOURS))]
