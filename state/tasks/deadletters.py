"""Dead letters: tasks that need a person. To be looked at, revived as they are or with another payload, or dismissed;
one by one, or many by what they have in common."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state import jsonsafe
from state.database.connection import Row
from state.database.notifier import notify_tasks, notify_work
from state.database.pool import fetch, fetch_one, retrying
from state.errors import DedupKeyTaken, EmptyFilter
from state.gates.waking import wake
from state.logs import log_transitions
from state.tasks.reads import DEFAULT_LIMIT, Task, get_task, refuse
from state.tasks.submission import NewTask
from state.tasks.verbs import Sign, perform

BATCH = 500
_DISMISSED: list[Sign] = [{"reason": "dismissed"}]


@dataclass(frozen=True, slots=True)
class Bulk:
    """What a redrive or a dismissal by filter did, or (`dry_run`) would have done."""

    tasks: int
    groups: list[Row]  # all that fit: {actor, error_type, tasks}, most first
    dry_run: bool
    skipped: int = 0  # another task holds their dedup key


def retry(task_id: str, payload: Any = None) -> Task:
    """A dead letter, or a retry that waits for its time, runs again now. With an edited payload it starts over: the
    original, and what was saved for it, stay in the history."""
    edited = None if payload is None else _edited(get_task(task_id), payload)
    return _revive(task_id, "retry", "retried", edited)


def dismiss(task_id: str) -> Task:
    """Nobody wants it any more: canceled."""
    rows = perform([task_id], _DISMISSED, lambda ids: fetch("dismiss", {"ids": ids}))
    if not rows:
        raise refuse(task_id, "dismiss")
    _announce(rows)
    return get_task(task_id)


def list_dead_letters(
    *,
    actor: str | None = None,
    error_type: str | None = None,
    older_than: float | None = None,
    tenant: str | None = None,
    before: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> list[Task]:
    """Newest first; `older_than` in seconds since they died; `before` is the last id of the page before."""
    wanted = _wanted(actor, error_type, tenant, _moment_before(older_than) if older_than else None)
    return [Task.from_row(row) for row in _listed(wanted, before, limit)]


def redrive(
    *,
    actor: str | None = None,
    error_type: str | None = None,
    older_than: float | None = None,
    tenant: str | None = None,
    all: bool = False,  # noqa: A002  (the word that the API uses)
    dry_run: bool = False,
) -> Bulk:
    """Revives all dead letters that fit, except those whose dedup key another unfinished task holds. Without actor,
    error_type or older_than only if `all` is said; a tenant says whose they are, not which."""
    _require_filter("redrive", all, actor, error_type, older_than)
    wanted = _wanted(actor, error_type, tenant, _moment_before(older_than or 0))
    if dry_run:
        return _foreseen(wanted, _redrive_skips(wanted))

    def revive(ids: list[str]) -> list[Row]:
        return fetch("revive", {"ids": ids, "why": "redriven", "edited": None, "wanted": wanted})

    return _in_batches(wanted, [{"reason": "redriven"}], revive)


def dismiss_many(
    *,
    actor: str | None = None,
    error_type: str | None = None,
    older_than: float | None = None,
    tenant: str | None = None,
    all: bool = False,  # noqa: A002
    dry_run: bool = False,
) -> Bulk:
    """Cancels all dead letters that fit; the filter is that of redrive."""
    _require_filter("dismiss", all, actor, error_type, older_than)
    wanted = _wanted(actor, error_type, tenant, _moment_before(older_than or 0))
    if dry_run:
        return _foreseen(wanted, skipped=0)
    return _in_batches(wanted, _DISMISSED, lambda ids: fetch("dismiss_batch", {"ids": ids, "wanted": wanted}))


def revive_dead(task_id: str, verb: str) -> Task:
    """For resume, which takes dead letters as well."""
    return _revive(task_id, verb, "resumed", None)


def _edited(task: Task, payload: Any) -> dict[str, Any]:
    """Another payload may have to pass other gates."""
    row = NewTask(task.actor, payload, tenant=task.tenant, target=task.target).row()
    return {name: row[name] for name in ("payload", "gates", "gate_limits")}


def _revive(task_id: str, verb: str, why: str, edited: dict[str, Any] | None) -> Task:
    body = None if edited is None else jsonsafe.dump(edited)

    def revive(ids: list[str]) -> list[Row]:
        return fetch("revive", {"ids": ids, "why": why, "edited": body, "wanted": None})

    rows = perform([task_id], [{"to": "queued", "reason": why}], revive)
    if not rows:
        raise refuse(task_id, verb)
    [row] = rows
    if row["holder"] is not None:
        raise DedupKeyTaken(task_id, row["dedup_key"], row["holder"])
    _announce(rows)
    return get_task(task_id)


@retrying
def _listed(wanted: str, before: str | None, limit: int) -> list[Row]:
    return fetch("dead_letters", {"wanted": wanted, "before": before, "limit": limit})


@retrying
def _groups(wanted: str) -> list[Row]:
    return fetch("dead_letter_groups", {"wanted": wanted})


@retrying
def _next_ids(wanted: str, after: str) -> list[str]:
    rows = fetch("dead_letter_ids", {"wanted": wanted, "after": after, "limit": BATCH})
    return [row["id"] for row in rows]


@retrying
def _redrive_skips(wanted: str) -> int:
    row = fetch_one("redrive_skips", {"wanted": wanted})
    return row["tasks"] if row else 0


@retrying
def _moment_before(seconds: float) -> datetime:
    row = fetch_one("moment_before", {"seconds": seconds})
    assert row is not None  # noqa: S101
    moment: datetime = row["moment"]
    return moment


def _wanted(actor: str | None, error_type: str | None, tenant: str | None, died_by: datetime | None) -> str:
    moment = died_by.isoformat() if died_by else None
    return jsonsafe.dump({"actor": actor, "error_type": error_type, "tenant": tenant, "died_by": moment})


def _require_filter(verb: str, everything: bool, *filters: object) -> None:
    if not everything and all(value is None for value in filters):
        raise EmptyFilter(verb)


def _foreseen(wanted: str, skipped: int) -> Bulk:
    groups = _groups(wanted)
    return Bulk(sum(group["tasks"] for group in groups) - skipped, groups, dry_run=True, skipped=skipped)


def _in_batches(wanted: str, signs: list[Sign], act: Callable[[list[str]], list[Row]]) -> Bulk:
    """Each batch is one statement and its own transaction. `died_by` is the moment of the first look: what dies again
    meanwhile is not taken twice."""
    groups = _groups(wanted)
    done = skipped = 0
    after = ""
    while ids := _next_ids(wanted, after):
        rows = perform(ids, signs, act)
        moved = [row for row in rows if row.get("holder") is None]
        done, skipped, after = done + len(moved), skipped + len(rows) - len(moved), ids[-1]
        _announce(moved)
    return Bulk(done, groups, dry_run=False, skipped=skipped)


def _announce(rows: Iterable[Row]) -> None:
    rows = list(rows)
    log_transitions(rows)
    notify_tasks(row["id"] for row in rows)
    queues = {row["queue"] for row in rows if row["status"] == "queued"}
    if queues:
        notify_work(queues)
    wake(gate for row in rows for gate in row["gates"])
