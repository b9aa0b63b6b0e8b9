"""Schedules that code declares. The maintainer writes them. What an operator has changed or deleted stays so."""

from dataclasses import replace
from typing import Any

from state.database import Row, fetch, retrying, transaction
from state.database.errors import TRANSIENT
from state.errors import InvalidDeclaration, InvalidPayload, ScheduleExists
from state.logs import log
from state.schedules.changes import insert_schedule, make_change
from state.schedules.definition import Definition
from state.schedules.reads import to_definition

_declared: dict[str, Definition] = {}


def declare_schedule(name: str, cron: str, actor: str, payload: dict[str, Any] | None = None, **options: Any) -> None:
    """Declares a schedule in a module of CALLBOARD_ACTORS; `options` are the other fields of a Definition, without
    tenant. To take one back, remove the declaration and delete the schedule."""
    definition = Definition(name, cron, actor, payload or {}, **options)
    try:
        definition.get_timetable()
    except InvalidPayload as wrong:
        raise InvalidDeclaration(f"Schedule {name!r}: {wrong}") from None
    if _declared.setdefault(name, definition) != definition:
        raise InvalidDeclaration(f"Schedule {name!r} is declared twice.")


class Declarations:
    """Those that are still to be written."""

    def __init__(self) -> None:
        self._left = list(_declared.values())

    def write(self) -> None:
        """Waits for no lock: a schedule that somebody else has locked is left for the next time. One that cannot be
        written is logged and forgotten: it must not keep the maintainer from its work."""
        self._left = [definition for definition in self._left if not _try_to_write(definition)]


def _try_to_write(definition: Definition) -> bool:
    try:
        return _write(definition)
    except TRANSIENT:
        raise
    except Exception:
        log.exception("a schedule that the code declares cannot be written", schedule=definition.name)
        return True


@retrying
def _write(definition: Definition) -> bool:
    """Returns False if it was locked, or has changed in between."""
    declared = definition.to_declared()
    found = fetch("schedule_declared", {"name": definition.name})
    if not found:
        try:
            insert_schedule(definition, declared=declared)
        except ScheduleExists:  # another maintainer was first
            return False
        return True
    [row] = found
    if row["deleted_at"] is not None or row["declared"] == declared:
        return True
    change = make_change(row, _merge(row, declared), declared)
    with transaction() as own:
        return bool(fetch("schedule_try_lock", {"id": row["id"]}, own) and fetch("schedule_change", change, own))


def _merge(row: Row, declared: dict[str, Any]) -> Definition:
    """Each field follows the code, unless somebody has set another value than was declared before."""
    current = to_definition(row)
    before: dict[str, Any] = row["declared"] or {}
    followed = {
        name: value for name, value in declared.items() if name in before and getattr(current, name) == before[name]
    }
    return replace(current, **followed)
