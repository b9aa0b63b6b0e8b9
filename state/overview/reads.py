"""Reads all that the overview shows in one round trip to the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch_each, retrying
from state.overview.troubles import Trouble, find_troubles
from state.settings import get_settings
from state.tasks import catalog
from state.transitions import STATUSES, Status
from state.workers.registry import count_places

_MOST_GATES = 12
_SILENT_PULSES = 4  # that a worker has missed: earlier than the end of its leases, after which its tasks are recovered
_PACE_MINUTES = 5
_COUNTS = ("created", "completed", "died", "attempts", "attempts_failed")


@dataclass(frozen=True, slots=True)
class Overview:
    at: datetime
    troubles: list[Trouble]  # the worst first
    states: dict[Status, int | None]  # by status; None: not counted for a tenant
    queues: list[Row]  # queue, primary, retry, running, oldest_seconds, paused, consumed
    workers_alive: int
    places: dict[str, int]  # threads, coroutines: of all workers that live
    per_minute: dict[str, float]  # created, completed, died, attempts, attempts_failed: over the last minutes
    history: list[Row]  # the minutes of the last hour that are measured, oldest first
    dead_letters: list[Row]  # actor, error_type, tasks, and the newest: task_id, message, finished_at
    gates: list[Row] | None  # None: not for this caller
    workers: list[Row] | None


@retrying
def get_overview(*, caller: Caller = SYSTEM) -> Overview:
    """What concerns the caller's tenant. Gates and workers are for operators without one."""
    tenant = caller.tenant
    scope = {"scope": tenant}
    of_all = tenant is None
    silent_seconds = _SILENT_PULSES * get_settings().pulse_seconds
    [system], depths, oldest, finished, dead, examples, gates, unknown, history, workers = fetch_each(
        [
            ("overview_system", {"silent_seconds": silent_seconds}),
            ("overview_depths", scope),
            ("oldest_queued", {}) if of_all else ("overview_oldest_of_tenant", {"tenant": tenant}),
            ("overview_finished", {}),
            ("metrics_dead_letters", {}) if of_all else ("overview_dead_letters_of_tenant", {"tenant": tenant}),
            ("overview_dead_letters", scope),
            ("overview_gates", {**scope, "limit": _MOST_GATES}),
            ("overview_unknown_actors", scope),
            ("overview_history", scope),
            ("workers", {"tasks_each": 0}),
        ]
    )
    states = _add_up_states(depths, finished if of_all else None, dead)
    queues = _list_queues(depths, oldest, system)
    pace = _measure_pace(history)
    sees_system = of_all and caller.has_role("operator")
    return Overview(
        at=system["at"],
        troubles=find_troubles(system, states, queues, gates, unknown, pace["attempts"]),
        states=states,
        queues=queues,
        workers_alive=system["workers"],
        places={kind: system[kind] for kind in ("threads", "coroutines")},
        per_minute=pace,
        history=history,
        dead_letters=_join_examples(dead, examples),
        gates=gates if sees_system else None,
        workers=[{**row, **count_places(row["by_actor"])} for row in workers] if sees_system else None,
    )


def _add_up_states(depths: list[Row], finished: list[Row] | None, dead: list[Row]) -> dict[Status, int | None]:
    states: dict[Status, Any] = dict.fromkeys(STATUSES, 0)
    for row in [*depths, *(finished or [])]:
        states[row["status"]] += row["tasks"]
    if finished is None:
        states |= {"completed": None, "canceled": None, "dead": sum(row["tasks"] for row in dead)}
    return states


def _list_queues(depths: list[Row], oldest: list[Row], system: Row) -> list[Row]:
    """The queues of all actors, and those that have tasks."""
    seconds = {row["queue"]: row["seconds"] for row in oldest}
    counted = {
        name: {"primary": 0, "retry": 0, "running": 0}
        for name in sorted({*catalog.list_queues(), *(row["queue"] for row in depths if row["queue"] is not None)})
    }
    for row in depths:
        if row["queue"] is not None:
            counted[row["queue"]]["running" if row["status"] == "running" else row["lane"]] += row["tasks"]
    return [
        {
            "queue": name,
            **counts,
            "oldest_seconds": seconds.get(name),
            "paused": name in system["closed_queues"],
            "consumed": name in system["consumed"],
        }
        for name, counts in counted.items()
    ]


def _measure_pace(history: list[Row]) -> dict[str, float]:
    last = history[-_PACE_MINUTES:]
    return {name: sum(row[name] for row in last) / max(len(last), 1) for name in _COUNTS}


def _join_examples(dead: list[Row], examples: list[Row]) -> list[Row]:
    """The largest groups first, each with its newest dead letter if that is among the newest of all."""
    newest = {(row["actor"], row["error_type"]): row for row in examples}
    nothing = {"task_id": None, "message": None, "finished_at": None}
    return [
        {**newest.get((row["actor"], row["error_type"]), nothing), **row}
        for row in sorted(dead, key=lambda row: (-row["tasks"], row["actor"], row["error_type"]))
    ]
