"""What the maintainer does with a schedule that is due: which of its ticks start a task, and when the next one comes.
It is computed from the stored row, outside of any transaction; start_schedules.sql does it."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from state.database import Row
from state.errors import InvalidPayload, StateError, UnknownActor
from state.logs import log
from state.schedules.timetable import Timetable
from state.tasks import catalog
from state.tasks.ids import new_task_id

MOST_STARTS = 100  # that `catch_up: all` makes up for; older ticks are only counted
MOST_COUNTED = 1000  # missed ticks
MISSED_AFTER = timedelta(seconds=60)  # a tick that no maintainer has seen for so long is a missed one


def make_plan(row: Row) -> dict[str, Any]:
    """Returns an element of `planned`. Never fails: a schedule whose next tick cannot be computed is paused."""
    plan = {"id": row["id"], "revision": row["revision"]}
    try:
        timetable = Timetable(row["cron"], row["timezone"])
        next_at = timetable.find_next(row["now"])
        ticks = [row["next_at"], *timetable.list_newest(row["next_at"], row["now"], MOST_COUNTED)][-MOST_COUNTED:]
    except Exception as failure:
        log.exception("the next tick of a schedule cannot be computed; it is paused", schedule_id=row["id"])
        failed = {"tick": row["next_at"].isoformat(), "missed": 0, "error": f"It is paused: {failure}"}
        return {**plan, "next_at": None, "ticks": [failed]}
    error = _find_error(row)
    return {**plan, "next_at": next_at.isoformat(), "ticks": _choose_ticks(row, ticks, error)}


def _choose_ticks(row: Row, ticks: list[datetime], error: str | None) -> list[dict[str, Any]]:
    """Applies the policy to the ticks up to now, of which the last one is on time or missed as well."""
    on_time = row["now"] - ticks[-1] < MISSED_AFTER
    if row["catch_up"] == "all":
        chosen = ticks[-MOST_STARTS:]
        first, *others = [_make_tick(row, tick, error) for tick in chosen]
        return [{**first, "missed": len(ticks) - len(chosen)}, *others]
    last = _make_tick(row, ticks[-1], error)
    if row["catch_up"] == "skip" and not on_time:
        last["skip"] = "no maintainer was there at the tick"
    return [{**last, "missed": len(ticks) - 1}]


def _make_tick(row: Row, tick: datetime, error: str | None) -> dict[str, Any]:
    start_at = tick + timedelta(seconds=find_jitter(row["id"], tick, row["jitter_seconds"]))
    return {
        "tick": tick.isoformat(),
        "task_id": new_task_id(),
        "start_at": start_at.isoformat(),
        "missed": 0,
        "error": error,
    }


def find_jitter(schedule_id: str, tick: datetime, most: int) -> float:
    """Returns 0 to `most` seconds: always the same for the same tick, evenly spread over ticks and schedules."""
    digest = hashlib.sha256(f"{schedule_id} {tick.timestamp():.0f}".encode()).digest()
    return most * int.from_bytes(digest[:6]) / 2**48


def _find_error(row: Row) -> str | None:
    """Returns what the actor finds wrong with the payload, since a deploy. An actor that this process does not know may
    be known to others: its payload was valid when the schedule was created."""
    try:
        catalog.get(row["actor"]).validate(row["payload"])
    except UnknownActor:
        return None
    except (InvalidPayload, StateError) as refused:
        return str(refused)
    except Exception as failure:  # of a validator
        log.exception("the payload of a schedule cannot be checked", schedule_id=row["id"], actor=row["actor"])
        return f"{type(failure).__name__}: {failure}"
    return None
