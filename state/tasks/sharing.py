"""Verbs that serve several callers by one statement and one commit. Each caller gets its own answer or its own error,
and nothing else: what one of them asks for does not change what another one gets."""

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar

from state.access.caller import Caller
from state.agents.guard import require_may_create
from state.database import Parameters, Row, fetch, retrying
from state.database.errors import TRANSIENT, kind_of
from state.errors import NotReady, TaskNotFound
from state.logs import log_transitions, write_together
from state.tasks.new_task import NewTask
from state.tasks.reads import Task, find_omitted, get_task, get_tasks_of_many
from state.tasks.submission import insert_many, insert_one

_Wanted = TypeVar("_Wanted")
_Answer = TypeVar("_Answer")
_P = ParamSpec("_P")


@dataclass(frozen=True, slots=True)
class Asked(Generic[_Wanted]):
    """What one caller asks for. Its context has its trace, and the id of its request for the log."""

    wanted: _Wanted
    caller: Caller
    context: Context


def submit_together(asked: Sequence[Asked[NewTask]]) -> list[Task | Exception]:
    """Accepts tasks of several callers: those that can be accepted commit together. Tasks that need a transaction of
    their own (`NewTask.goes_alone`) are not for this verb."""
    rows = [_try(each.context.run, _make_row, each) for each in asked]
    new = [(each, row) for each, row in zip(asked, rows, strict=True) if not isinstance(row, Exception)]
    answers = iter(_insert(new))
    return [row if isinstance(row, Exception) else next(answers) for row in rows]


class TooLargeToShare(Exception):
    """The task has large values. It is to be read alone: others would wait for them."""


def get_together(asked: Sequence[Asked[str]]) -> list[Task | Exception]:
    """Reads tasks, by their ids, for several callers. The error for a large one is TooLargeToShare."""
    try:
        found = _find([(each.wanted, each.caller.tenant) for each in asked])
    except Exception as failure:
        if len(asked) == 1 or not _says_something_of_a_row(failure):
            return [failure] * len(asked)
        return [_try(_get_alone, each) for each in asked]
    return [_show(found.get((each.wanted, each.caller.tenant)), each) for each in asked]


@retrying
def _find(wanted: Sequence[tuple[str, str | None]]) -> dict[tuple[str, str | None], Row]:
    """Returns the rows by id and scope: one task may be asked for by a caller that sees it and by one that does not."""
    distinct = list(dict.fromkeys(wanted))
    parameters: Parameters = {"ids": [its_id for its_id, _ in distinct], "scopes": [scope for _, scope in distinct]}
    return {(row["id"], row["scope"]): row for row in fetch("tasks_of_callers", parameters)}


def _show(row: Row | None, asked: Asked[str]) -> Task | Exception:
    if row is None:
        return TaskNotFound(asked.wanted)
    return TooLargeToShare() if find_omitted(row) else Task.from_row(row).as_seen_by(asked.caller)


def _make_row(asked: Asked[NewTask]) -> Row:
    require_may_create()
    if asked.wanted.goes_alone:
        raise ValueError("a task with a dedup key or a workflow cannot share its transaction")
    return asked.wanted.to_row(asked.caller)


def _insert(new: Sequence[tuple[Asked[NewTask], Row]]) -> list[Task | Exception]:
    """The ids are the same at each try. If an earlier try has been committed, and its answer was lost, the statement
    finds the tasks there, and they are read."""
    if len(new) <= 1:
        return [_try(each.context.run, _insert_alone, each, row) for each, row in new]
    try:
        inserted = {row["id"]: row for row in insert_many([row for _, row in new], conn=None)}
    except Exception as failure:
        if not _says_something_of_a_row(failure):
            return [failure] * len(new)
        return [_try(each.context.run, _insert_alone, each, row) for each, row in new]
    with write_together():
        for each, row in new:
            if (known := inserted.get(row["id"])) is not None:
                each.context.run(log_transitions, [known], **{"from": None})
    read = _read_back([row["id"] for _, row in new if not _is_complete(inserted.get(row["id"]))])
    return [_answer(each, row, inserted.get(row["id"]), read) for each, row in new]


def _insert_alone(asked: Asked[NewTask], row: Row) -> Task:
    return insert_one(row, conn=None).as_seen_by(asked.caller)


def _get_alone(asked: Asked[str]) -> Task:
    return get_task(asked.wanted, caller=asked.caller)


def _is_complete(inserted: Row | None) -> bool:
    """Whether the task needs no second look: one that stands in a line has to say at which gate, and why."""
    return inserted is not None and inserted["status"] != "waiting"


def _read_back(ids: Sequence[str]) -> dict[str, Task] | Exception:
    try:
        return get_tasks_of_many(ids) if ids else {}
    except (*TRANSIENT, NotReady) as failure:
        return failure


def _answer(
    asked: Asked[NewTask], row: Row, inserted: Row | None, read: dict[str, Task] | Exception
) -> Task | Exception:
    task = None if isinstance(read, Exception) else read.get(row["id"])
    if task is None and inserted is not None:  # accepted, whatever came after
        task = Task.from_submission(row, inserted["created_at"].isoformat(), inserted["status"])
    if task is not None:
        return task.as_seen_by(asked.caller)
    return read if isinstance(read, Exception) else TaskNotFound(row["id"])


def _try(act: Callable[_P, _Answer], *args: _P.args, **kwargs: _P.kwargs) -> _Answer | Exception:
    try:
        return act(*args, **kwargs)
    except Exception as failure:
        return failure


def _says_something_of_a_row(failure: Exception) -> bool:
    """Whether the others may succeed without the row that has failed. Errors that say something of the database alone
    are everybody's: the statement has been tried again already."""
    return kind_of(failure) in ("bad row", "bug")
