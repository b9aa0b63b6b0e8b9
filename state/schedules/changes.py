"""Creating, changing, pausing and deleting schedules."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.agents.guard import require_may_create
from state.database import Parameters, Row, fetch, retrying
from state.database.errors import AlreadyExists
from state.errors import InvalidPayload, ScheduleExists, ScheduleNotFound
from state.logs import log_request
from state.schedules.definition import Definition
from state.schedules.reads import Schedule, get_schedule, read_row, to_definition
from state.tasks.admission import require_may_run_payload
from state.tasks.ids import new_schedule_id

CHANGEABLE = frozenset(Definition.__slots__) - {"tenant"}

_fetch = retrying(fetch)


def create_schedule(
    name: str,
    cron: str,
    actor: str,
    payload: Any = None,
    *,
    paused: bool = False,
    caller: Caller = SYSTEM,
    **options: Any,
) -> Schedule:
    """Creates a schedule; `options` are the other fields of a Definition. Its first tick is the next one from now.
    Raises InvalidPayload or UnknownActor if it could start nothing, ScheduleExists, or Forbidden."""
    definition = Definition(name, cron, actor, {} if payload is None else payload, **options)
    return insert_schedule(definition, paused=paused, caller=caller)


def insert_schedule(
    definition: Definition, *, paused: bool = False, declared: Any = None, caller: Caller = SYSTEM
) -> Schedule:
    """`declared`: what the code says, for a schedule that the code declares."""
    require_may_create()
    row = definition.to_row(caller)
    first = definition.get_timetable().find_next(read_clock())
    schedule_id = new_schedule_id()
    kept = {
        "id": schedule_id,
        "next_at": None if paused else first,
        "declared": None if declared is None else jsonsafe.dump(declared),
        "created_by": caller.name,
    }
    try:
        _fetch("schedule_create", {**row, **kept})
    except AlreadyExists:  # the name; or the id, if an earlier try has been committed and its answer was lost
        try:
            return get_schedule(schedule_id)
        except ScheduleNotFound:
            raise ScheduleExists(definition.name, definition.tenant) from None
    log_request("schedule created", schedule_id=schedule_id, schedule=definition.name, by=caller.name)
    return get_schedule(schedule_id)


def change_schedule(schedule_id: str, *, caller: Caller = SYSTEM, **changes: Any) -> Schedule:
    """Changes fields of a schedule. With another expression or zone it goes on with the next tick from now."""
    if unknown := sorted(set(changes) - CHANGEABLE):
        raise InvalidPayload(f"{unknown[0]}: cannot be changed", unknown[0])
    require_may_create()
    while True:
        row = read_row(schedule_id, caller=caller)
        wanted = replace(to_definition(row), **changes)
        try:
            if _fetch("schedule_change", make_change(row, wanted, row["declared"], caller=caller)):
                break  # otherwise a tick has come in between
        except AlreadyExists:
            raise ScheduleExists(wanted.name, wanted.tenant) from None
    log_request("schedule changed", schedule_id=schedule_id, fields=sorted(changes), by=caller.name)
    return get_schedule(schedule_id, caller=caller)


def make_change(row: Row, wanted: Definition, declared: Any, *, caller: Caller = SYSTEM) -> Parameters:
    """Returns the parameters of schedule_change, which changes nothing if the schedule has changed since the row was
    read."""
    timetable = wanted.get_timetable()
    same_ticks = (wanted.cron, wanted.timezone) == (row["cron"], row["timezone"])
    return {
        **wanted.to_row(caller),
        "id": row["id"],
        "revision": row["revision"],
        "next_at": row["next_at"] if same_ticks or row["paused"] else timetable.find_next(row["now"]),
        "declared": None if declared is None else jsonsafe.dump(declared),
    }


def pause_schedule(schedule_id: str, *, caller: Caller = SYSTEM) -> Schedule:
    """Its ticks start nothing until it is resumed, and are not made up for. Does nothing if it is paused."""
    _set_next(schedule_id, None, caller)
    return get_schedule(schedule_id, caller=caller)


def resume_schedule(schedule_id: str, *, caller: Caller = SYSTEM) -> Schedule:
    """Goes on with the next tick from now. Does nothing if it is not paused. Raises Forbidden if the caller may not
    give its actor work."""
    row = read_row(schedule_id, caller=caller)
    require_may_run_payload(caller, row["actor"], row["payload"])
    _set_next(schedule_id, to_definition(row).get_timetable().find_next(row["now"]), caller)
    return get_schedule(schedule_id, caller=caller)


def delete_schedule(schedule_id: str, *, caller: Caller = SYSTEM) -> None:
    """Its history and its tasks stay."""
    read_row(schedule_id, caller=caller)
    if _fetch("schedule_delete", {"id": schedule_id, "scope": caller.tenant}):
        log_request("schedule deleted", schedule_id=schedule_id, by=caller.name)


def read_clock() -> datetime:
    [row] = _fetch("moment_before", {"seconds": 0})
    moment: datetime = row["moment"]
    return moment


def _set_next(schedule_id: str, next_at: datetime | None, caller: Caller) -> None:
    if _fetch("schedule_pause", {"id": schedule_id, "next_at": next_at, "scope": caller.tenant}):
        log_request("schedule resumed" if next_at else "schedule paused", schedule_id=schedule_id, by=caller.name)
