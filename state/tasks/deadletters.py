"""Dead letters: tasks that need a person. They can be listed, revived with the same or another payload, or dismissed;
one by one, or many by a filter."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, fetch_one, retrying
from state.errors import DedupKeyTaken, EmptyFilter, QueueAlreadyRunning, RunReplaced, StateError
from state.tasks.admission import list_forbidden_work, require_may_rerun
from state.tasks.announcements import announce
from state.tasks.new_task import NewTask
from state.tasks.reads import DEFAULT_LIMIT, ListedTask, Task, get_task, get_tasks_of_many, make_refusal
from state.tasks.verbs import Evidence, run_verb

BATCH = 500
PAUSES = (0.05, 0.2, 0.5, 1.0)  # seconds before another try at what was locked: most locks are held for milliseconds
_BEFORE_ALL: Row = {"kind": -(2**63), "id": ""}
DISMISSED: list[Evidence] = [{"reason": "dismissed"}]


class Filter(TypedDict, total=False):
    """A dead letter is taken if all of these match; None matches all. `older_than`: seconds since they died."""

    actor: str | None
    agent_name: str | None
    task_type: str | None  # of an agent
    error_type: str | None
    fingerprint: str | None  # of a group: see state/tasks/errorgroups.py
    older_than: float | None
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Bulk:
    """The result of a redrive or a dismissal by filter; with `dry_run`, the result that it would have."""

    tasks: int
    groups: list[Row]  # all that match: {actor, error_type, tasks}, largest first
    dry_run: bool
    skipped: int = 0  # another task holds their dedup key, or another run of their project is in their place


def retry(task_id: str, payload: Any = None, *, caller: Caller = SYSTEM) -> Task:
    """Queues a dead letter, or a retry that is scheduled for later, now. With an edited payload the task starts over:
    the original payload, and its checkpoint, are kept in the history."""
    require_may_rerun(caller, task_id)
    edited = None if payload is None else _edit(get_task(task_id, caller=caller), payload, caller)
    return _revive(task_id, "retry", "retried", edited, caller)


def dismiss(task_id: str, *, caller: Caller = SYSTEM) -> Task:
    """Cancels a dead letter."""

    def act(ids: list[str]) -> list[Row]:
        return fetch("dismiss", {"ids": ids, "scope": caller.tenant, "by": caller.name})

    rows = run_verb([task_id], DISMISSED, act, caller=caller)
    if not rows:
        raise make_refusal(task_id, "dismiss", caller)
    announce(rows, left_gates=True, by=caller.name)
    return get_task(task_id, caller=caller)


def list_dead_letters(
    *,
    before: str | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
    **filters: Unpack[Filter],
) -> list[ListedTask]:
    """Newest first. `before`: the last id of the previous page."""
    older_than = filters.get("older_than")
    wanted = make_filter(filters, get_moment_before(older_than) if older_than else None, caller, status="dead")
    rows = _fetch("dead_letters", {"wanted": wanted, "before": before, "limit": limit})
    return [ListedTask.from_row(row).as_seen_by(caller) for row in rows]


def redrive(
    *,
    all: bool = False,  # noqa: A002  (the word that the API uses)
    dry_run: bool = False,
    caller: Caller = SYSTEM,
    **filters: Unpack[Filter],
) -> Bulk:
    """Revives all dead letters that match, except those whose dedup key another unfinished task holds. Without a
    filter, `all` must be given; a tenant alone is no filter. Those of actors and agents that the caller may not give
    work do not match."""
    _require_filter("redrive", all, filters)
    moment = get_moment_before(filters.get("older_than") or 0)
    wanted = make_filter(filters, moment, caller, without=list_forbidden_work(caller))
    group = filters.get("fingerprint")
    if dry_run:
        return _preview(wanted, group, skipped=_count_redrive_skips(wanted, group))

    def revive(ids: list[str]) -> list[Row]:
        parameters = {"ids": ids, "why": "redriven", "edited": None, "wanted": wanted}
        return fetch("revive", {**parameters, "scope": caller.tenant, "by": caller.name})

    return _run_in_batches(wanted, group, [{"reason": "redriven"}], revive, caller)


def dismiss_many(
    *,
    all: bool = False,  # noqa: A002
    dry_run: bool = False,
    caller: Caller = SYSTEM,
    **filters: Unpack[Filter],
) -> Bulk:
    """Cancels all dead letters that match; the filter is that of redrive."""
    _require_filter("dismiss", all, filters)
    wanted = make_filter(filters, get_moment_before(filters.get("older_than") or 0), caller)
    group = filters.get("fingerprint")
    if dry_run:
        return _preview(wanted, group, skipped=0)

    def act(ids: list[str]) -> list[Row]:
        return fetch("dismiss_batch", {"ids": ids, "wanted": wanted, "by": caller.name})

    return _run_in_batches(wanted, group, DISMISSED, act, caller)


def revive_dead(task_id: str, verb: str, caller: Caller) -> Task:
    """For resume, which takes dead letters as well."""
    return _revive(task_id, verb, "resumed", None, caller)


def _edit(task: Task, payload: Any, caller: Caller) -> dict[str, Any]:
    """Another payload may have to pass other gates, and to be that of another agent."""
    row = NewTask(task.actor, payload, tenant=task.tenant, target=task.target).to_row(caller)
    return {name: row[name] for name in ("payload", "gates", "gate_limits")}


def _revive(task_id: str, verb: str, reason: str, edited: dict[str, Any] | None, caller: Caller) -> Task:
    body = None if edited is None else jsonsafe.dump(edited)

    def revive(ids: list[str]) -> list[Row]:
        parameters = {"ids": ids, "why": reason, "edited": body, "wanted": None}
        return fetch("revive", {**parameters, "scope": caller.tenant, "by": caller.name})

    rows = run_verb([task_id], [{"to": "queued", "reason": reason}], revive, caller=caller)
    if not rows:
        raise make_refusal(task_id, verb, caller)
    [row] = rows
    if row["holder"] is not None:
        raise _make_holder_error(row)
    announce(rows, left_gates=True, by=caller.name)
    return get_task(task_id, caller=caller)


def _make_holder_error(row: Row) -> StateError:
    """The error for a task that stays dead because of another one, which has the same tenant: dedup keys and projects
    belong to tenants."""
    if row["actor"] != "project_run":
        return DedupKeyTaken(row["id"], row["dedup_key"], row["holder"])
    holder = get_tasks_of_many([row["holder"]]).get(row["holder"])
    if holder is None or holder.finished:
        return RunReplaced(row["id"], row["holder"])
    return QueueAlreadyRunning(get_task(row["id"]).payload["project_id"], row["holder"])


_fetch = retrying(fetch)
_fetch_one = retrying(fetch_one)


def _list_groups(wanted: str, group: str | None) -> list[Row]:
    return _fetch("dead_letter_groups", {"wanted": wanted, "fingerprint": group})


def _list_next(wanted: str, group: str | None, last: Row) -> list[Row]:
    """Returns the next ids after the last row; those of a group come with their kind."""
    asked = {"wanted": wanted, "after": last["id"], "limit": BATCH}
    if group is None:
        return _fetch("dead_letter_ids", asked)
    return _fetch("dead_letter_ids_of_group", {**asked, "fingerprint": group, "kind": last["kind"]})


def _count_redrive_skips(wanted: str, group: str | None) -> int:
    row = _fetch_one("redrive_skips", {"wanted": wanted, "fingerprint": group})
    return row["tasks"] if row else 0


def get_moment_before(seconds: float) -> datetime:
    """By the database's clock."""
    row = _fetch_one("moment_before", {"seconds": seconds})
    assert row is not None  # noqa: S101
    moment: datetime = row["moment"]
    return moment


def make_filter(filters: Filter, died_by: datetime | None, caller: Caller, **more: Any) -> str:
    """Returns the filter for `dead_letter_fits` and `error_groups`, or with the status for `newest_tasks`. Raises
    TypeError for a name that it does not know."""
    unknown = filters.keys() - Filter.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
    names = {name: value for name, value in filters.items() if name != "older_than"}
    died = {"died_by": died_by.isoformat() if died_by else None}
    given = {name: value for name, value in more.items() if value is not None}
    return jsonsafe.dump({**names, **died, "scope": caller.tenant, **given})


def _require_filter(verb: str, everything: bool, filters: Filter) -> None:
    if not everything and all(value is None for name, value in filters.items() if name != "tenant"):
        raise EmptyFilter(verb)


def _preview(wanted: str, group: str | None, *, skipped: int) -> Bulk:
    groups = _list_groups(wanted, group)
    return Bulk(sum(group["tasks"] for group in groups) - skipped, groups, dry_run=True, skipped=skipped)


def _run_in_batches(
    wanted: str, group: str | None, evidence: list[Evidence], act: Callable[[list[str]], list[Row]], caller: Caller
) -> Bulk:
    """Runs one statement and one transaction for each batch. The filter's `died_by` is the moment of the call: tasks
    that die again meanwhile are not taken twice. Those that another session has locked, or whose workflow or project it
    has locked, are tried again a few times: all of a workflow's are locked while one of its tasks ends."""
    groups = _list_groups(wanted, group)
    done = 0
    held: set[str] = set()
    for pause in (*PAUSES, None):
        last, busy = _BEFORE_ALL, False
        while found := _list_next(wanted, group, last):
            last = found[-1]
            if not (asked := [row["id"] for row in found if row["id"] not in held]):
                continue
            rows = run_verb(asked, evidence, act, caller=caller)
            moved = [row for row in rows if row.get("holder") is None]
            held |= {row["id"] for row in rows if row.get("holder") is not None}
            done += len(moved)
            busy = busy or len(rows) < len(asked)
            announce(moved, left_gates=True, by=caller.name)
        if not busy or pause is None:
            break
        time.sleep(pause)
    return Bulk(done, groups, dry_run=False, skipped=len(held))
