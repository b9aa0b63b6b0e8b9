"""Submitting a batch in which each task has an outcome of its own: one that is refused does not stop the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from state.access.caller import SYSTEM, Caller
from state.agents.guard import require_may_create
from state.database import AnyConnection, Row, fetch, retrying, transaction
from state.database.errors import DatabaseError, kind_of
from state.database.notifier import notify_work
from state.errors import InvalidPayload, StateError
from state.logs import log_transitions
from state.tasks.new_task import NewTask
from state.tasks.submission import CHUNK, insert_all

MOST_TASKS = CHUNK  # one statement


@dataclass(frozen=True, slots=True)
class Accepted:
    """A task that was accepted, or the one that holds its dedup key."""

    task_id: str
    queue: str
    deduplicated: bool


Outcome = Accepted | StateError


@dataclass(slots=True)
class _Try:
    """What came of one try to insert the rows."""

    outcomes: list[Outcome]
    inserted: list[Row]


def submit_each(
    tasks: Sequence[NewTask], *, conn: AnyConnection | None = None, caller: Caller = SYSTEM
) -> list[Outcome]:
    """Accepts all tasks that can be accepted: they commit together. Returns for each, in order, what was accepted or
    the error that `submit` would raise. With `conn`, in the caller's own transaction, which only the caller can repeat,
    and after which it notifies the workers."""
    require_may_create()
    outcomes = [_check(task, caller) for task in tasks]
    rows = [each for each in outcomes if isinstance(each, dict)]
    done = (_insert_repeatedly(rows, caller) if conn is None else _insert(rows, conn, caller)) if rows else _Try([], [])
    log_transitions(done.inserted, **{"from": None})
    answers = iter(done.outcomes)
    return [next(answers) if isinstance(each, dict) else each for each in outcomes]


def _check(task: NewTask, caller: Caller) -> Row | StateError:
    try:
        return task.to_row(caller)
    except StateError as refused:
        return refused


def _insert_repeatedly(rows: Sequence[Row], caller: Caller) -> _Try:
    """One transaction, which is repeated as a whole. If an earlier try's commit has succeeded and its answer was lost,
    its tasks are found, and its result is returned."""
    last: _Try | None = None

    @retrying
    def attempt() -> _Try:
        nonlocal last
        if last is not None and fetch("any_task", {"ids": [row["id"] for row in rows]}):
            return last
        with transaction() as own:
            last = _insert(rows, own, caller)
        return last

    done = attempt()
    notify_work({row["queue"] for row in rows})
    return done


def _insert(rows: Sequence[Row], conn: AnyConnection, caller: Caller) -> _Try:
    """Inserts all rows by one statement. If one of them is refused, inserts one by one, to see which."""
    try:
        with conn.transaction():
            return _answer(rows, *insert_all(rows, conn, caller))
    except (StateError, DatabaseError) as failure:
        refused = _explain(failure)
    if len(rows) == 1:
        return _Try([refused], [])
    each = [_insert([row], conn, caller) for row in rows]
    return _Try([one for done in each for one in done.outcomes], [one for done in each for one in done.inserted])


def _answer(rows: Sequence[Row], ids: Sequence[str], inserted: list[Row]) -> _Try:
    pairs = zip(rows, ids, strict=True)
    return _Try([Accepted(its_id, row["queue"], its_id != row["id"]) for row, its_id in pairs], inserted)


def _explain(failure: StateError | DatabaseError) -> StateError:
    """Returns the error of a row that cannot be stored. Raises any other error of the database: it says nothing about
    the row."""
    if isinstance(failure, StateError):
        return failure
    if kind_of(failure) != "bad row":
        raise failure
    return InvalidPayload("payload: a value is too long to be stored", "payload")
