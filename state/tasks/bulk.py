"""Actions on many tasks: those with some ids, or all that a filter finds, step by step. A preview says what an action
would do. A step is one batch: what the verb for one task does, in one statement and one transaction (in two for resume,
which also revives). Tasks that cannot be moved stay as they are, each with its reason."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, retrying
from state.database.errors import DatabaseError, kind_of
from state.errors import EmptyFilter
from state.settings import get_settings
from state.tasks.admission import list_forbidden_work
from state.tasks.announcements import announce
from state.tasks.control import RESUMED, announce_stops, make_stop_evidence
from state.tasks.deadletters import BATCH, DISMISSED, PAUSES
from state.tasks.reads import make_filter
from state.tasks.search import find_with_words, split_words
from state.tasks.verbs import Evidence, run_verb
from state.transitions import LIVE, STARTABLE

Action = Literal["cancel", "pause", "resume", "retry", "dismiss"]
Reason = Literal[
    "not-found", "forbidden", "changed", "illegal-transition", "stopping", "dedup-key-taken", "queue-already-running"
]
FailureReason = Literal["locked", "internal-error"]

STEP = BATCH  # tasks of one step
PREVIEWED = 10_000  # tasks that a preview counts
_OTHERS = 1_000  # tasks that fit the filter, and on which the action is not possible, that a preview counts
_NAMED = 10  # ids of each group of an outcome

_LANES = ("primary", "retry")
_POSSIBLE: dict[Action, list[str]] = {
    "cancel": [f"{status}:{lane}" for status in sorted(LIVE) for lane in _LANES],
    "pause": [f"{status}:{lane}" for status in sorted({*STARTABLE, "running"}) for lane in _LANES],
    "resume": [f"{status}:{lane}" for status in ("dead", "paused") for lane in _LANES],
    "retry": ["dead:primary", "dead:retry", "scheduled:retry"],
    "dismiss": ["dead:primary", "dead:retry"],
}
"""By action: in which status and lane a task must be."""
_BECOMES: dict[Action, str] = {
    "cancel": "canceled", "pause": "paused", "resume": "queued", "retry": "queued", "dismiss": "canceled"
}  # fmt: skip
_REVIVES = ("resume", "retry")


class Group(NamedTuple):
    """Tasks that an action has moved, or would move."""

    actor: str
    status: str  # before
    becomes: str  # "stopping": its worker is asked to stop
    tasks: int


class Left(NamedTuple):
    """Tasks that stay as they are."""

    reason: str
    status: str | None
    tasks: int
    ids: list[str]  # of some of them


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action has done in a step; of a preview, what it would do in all its steps."""

    tasks: int
    groups: list[Group]
    skipped: list[Left]
    failed: list[Left]  # worth another try
    begins: str | None = (
        None  # of a preview: the position with which an action acts on what it has counted, and older ones
    )
    goes_on: str | None = None  # the position after which there may be more


@dataclass(slots=True)
class _Step:
    moved: list[Row] = field(default_factory=list)
    skipped: dict[str, tuple[Reason, str | None]] = field(default_factory=dict)  # with the status
    failed: dict[str, tuple[FailureReason, str | None]] = field(default_factory=dict)


def act_on_tasks(ids: Sequence[str], action: Action, *, dry_run: bool = False, caller: Caller = SYSTEM) -> Outcome:
    """Acts on these tasks, at most STEP."""
    unique = list(dict.fromkeys(ids))
    if len(unique) > STEP:
        raise ValueError(f"at most {STEP} tasks")
    wanted = _complete({"scope": caller.tenant}, action, caller)
    return _preview(unique, wanted, action, caller) if dry_run else _run(unique, wanted, action, caller)


def act_on_all(
    action: Action,
    *,
    all: bool = False,  # noqa: A002  (the word that the API uses)
    text: str | None = None,
    before: str | None = None,
    dry_run: bool = False,
    caller: Caller = SYSTEM,
    **filters: str | None,
) -> Outcome:
    """Acts on the newest tasks that fit the filters, STEP of them, or on those before an id. Each step goes on where
    the one before has ended, so they come to an end, also if tasks come back. Without a filter, `all` must be given; a
    tenant alone is no filter."""
    words = split_words(text or "")
    if not (all or words or any(value is not None for name, value in filters.items() if name != "tenant")):
        raise EmptyFilter(action, "a filter besides the tenant, or a text")
    wanted = _complete(make_filter(filters, caller), action, caller) | ({"words": words} if words else {})
    if not dry_run:
        ids, goes_on = _find(wanted, words, before, STEP)
        return _run(ids, wanted, action, caller, goes_on)
    ids, goes_on = _find(wanted, words, before, PREVIEWED)
    lanes = {f"{status}:{lane}" for status in ("completed", "canceled", "dead", *LIVE) for lane in _LANES}
    others = {**wanted, "places": sorted(lanes - set(_POSSIBLE[action]))}
    other_ids, _ = _find(others, words, before, _OTHERS)
    begins = _follow(max(ids)) if ids else before
    return _preview([*ids, *other_ids], wanted, action, caller, begins, goes_on)


def _complete(wanted: dict[str, Any], action: Action, caller: Caller) -> dict[str, Any]:
    without = list_forbidden_work(caller) if action in _REVIVES else None
    return {**wanted, "places": _POSSIBLE[action], **({"without": without} if without else {})}


def _find(
    wanted: Mapping[str, Any], words: Collection[str], before: str | None, limit: int
) -> tuple[list[str], str | None]:
    """Returns ids, and the position after which there may be more."""
    if words:
        found = find_with_words(words, wanted, before, limit)
        return found.ids, found.position
    rows = _fetch("newest_ids", {"wanted": jsonsafe.dump(wanted), "before": before, "limit": limit})
    ids = [row["id"] for row in rows]
    return ids, ids[-1] if len(ids) == limit else None


def _follow(task_id: str) -> str:
    """Returns the first id after this one: lists begin before a position."""
    prefix, _, number = task_id.partition("_")
    return f"{prefix}_{int(number, 16) + 1:032x}"


def _preview(
    ids: list[str],
    wanted: dict[str, Any],
    action: Action,
    caller: Caller,
    begins: str | None = None,
    goes_on: str | None = None,
) -> Outcome:
    found = _look(ids, wanted, action, caller)
    step = _Step()
    _skip(ids, found, action, step)
    for each in _find_left(ids, step):
        status = found[each]["status"]
        step.moved.append(
            {**found[each], "before": status, "status": status if status == "running" else _BECOMES[action]}
        )
    return _summarize(step, begins, goes_on)


def _run(ids: list[str], wanted: dict[str, Any], action: Action, caller: Caller, goes_on: str | None = None) -> Outcome:
    """What another session has locked, or whose workflow or project it has locked, is tried again a few times."""
    step = _Step()
    left = ids
    for pause in (*PAUSES, None):
        _act(left, wanted, action, caller, step)
        left = _find_left(left, step)
        found = _look(left, wanted, action, caller)
        _skip(left, found, action, step)
        left = _find_left(left, step)
        if not left or pause is None:
            break
        time.sleep(pause)
    step.failed |= dict.fromkeys(left, ("locked", None))
    return _summarize(step, None, goes_on)


def _skip(ids: list[str], found: Mapping[str, Row], action: Action, step: _Step) -> None:
    for each in ids:
        row = found.get(each)
        if reason := _find_reason(row, action):
            step.skipped[each] = (reason, row["status"] if row else None)


def _find_left(ids: list[str], step: _Step) -> list[str]:
    known = {*step.skipped, *step.failed, *(row["id"] for row in step.moved)}
    return [each for each in ids if each not in known]


def _act(ids: list[str], wanted: dict[str, Any], action: Action, caller: Caller, step: _Step) -> None:
    """If the database refuses a batch because of one of its tasks, the others are moved without it."""
    if not ids:
        return
    try:
        for statement, evidence, parameters in _list_statements(action):
            left = _find_left(ids, step)
            moved = _move(left, statement, evidence, {**parameters, "wanted": jsonsafe.dump(wanted)}, caller)
            step.moved += moved
            if action in ("cancel", "pause"):
                announce_stops(moved, action, caller)
            else:
                announce(moved, left_gates=True, by=caller.name)
    except DatabaseError as refused:
        if kind_of(refused) in ("again", "reconnect"):
            raise
        if len(ids) == 1:
            step.failed[ids[0]] = ("internal-error", None)
            return
        for part in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
            _act(part, wanted, action, caller, step)


def _list_statements(action: Action) -> list[tuple[str, list[Evidence], dict[str, Any]]]:
    def revive(why: str) -> tuple[str, list[Evidence], dict[str, Any]]:
        return "revive", [{"to": "queued", "reason": why}], {"why": why, "edited": None}

    match action:
        case "cancel":
            return [("cancel_batch", make_stop_evidence("cancel"), {"request": "cancel"})]
        case "pause":
            return [("pause_batch", make_stop_evidence("pause"), {"token_limit": get_settings().token_limit})]
        case "resume":
            return [("resume_batch", RESUMED, {}), revive("resumed")]
        case "retry":
            return [revive("retried")]
        case "dismiss":
            return [("dismiss_batch", DISMISSED, {})]


def _move(
    ids: list[str], statement: str, evidence: list[Evidence], parameters: Mapping[str, Any], caller: Caller
) -> list[Row]:
    def act(left: list[str]) -> list[Row]:
        return fetch(statement, {**parameters, "ids": left, "scope": caller.tenant, "by": caller.name})

    rows = run_verb(ids, evidence, act, caller=caller) if ids else []
    return [row for row in rows if row.get("holder") is None]


def _look(ids: list[str], wanted: dict[str, Any], action: Action, caller: Caller) -> dict[str, Row]:
    if not ids:
        return {}
    parameters = {"ids": ids, "wanted": jsonsafe.dump(wanted), "scope": caller.tenant, "revives": action in _REVIVES}
    return {row["id"]: row for row in _fetch("bulk_tasks", parameters)}


def _find_reason(row: Row | None, action: Action) -> Reason | None:
    """Returns why the action does not move a task, or None."""
    if row is None:
        return "not-found"
    if not row["allowed"]:
        return "forbidden"
    if not row["fits"]:
        return "changed"
    if f"{row['status']}:{row['lane']}" not in _POSSIBLE[action]:
        return "illegal-transition"
    if row["status"] == "running" and row["cancel_requested"] not in (None, "pause" if action == "cancel" else None):
        return "stopping"
    if row["holder"] is not None:
        return "queue-already-running" if row["actor"] == "project_run" else "dedup-key-taken"
    return None


def _summarize(step: _Step, begins: str | None, goes_on: str | None) -> Outcome:
    moves = Counter(
        (row["actor"], row["before"], "stopping" if row["status"] == "running" else row["status"]) for row in step.moved
    )
    groups = [Group(*move, tasks) for move, tasks in sorted(moves.items(), key=lambda each: (-each[1], each[0]))]
    return Outcome(len(step.moved), groups, _gather(step.skipped), _gather(step.failed), begins, goes_on)


def _gather(left: Mapping[str, tuple[str, str | None]]) -> list[Left]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for task_id, why in left.items():
        groups.setdefault(why, []).append(task_id)
    return [
        Left(*why, len(ids), ids[:_NAMED])
        for why, ids in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0][0]))
    ]


_fetch: Callable[..., list[Row]] = retrying(fetch)
