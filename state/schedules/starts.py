"""Starting the tasks of schedules: those that are due, by the maintainer; one at once, by a person."""

from collections.abc import Sequence

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.agents.guard import require_may_create
from state.database import Row, fetch, retrying
from state.database.notifier import notify_work
from state.errors import InvalidPayload, ScheduleBusy
from state.logs import log, log_transitions
from state.schedules.plan import make_plan
from state.schedules.reads import ScheduleRun, read_row, to_definition
from state.tasks.ids import new_task_id

BATCH = 20  # schedules in one transaction, each with up to MOST_STARTS tasks

_fetch = retrying(fetch)


def start_due() -> int:
    """Starts what is due, for one batch of schedules. Returns how many were due. Two maintainers may do so at once: a
    tick has one row, which is inserted together with its task."""
    due = _fetch("schedules_due", {"limit": BATCH})
    if due:
        runs = _start(jsonsafe.dump([make_plan(row) for row in due]))
        _announce(runs, {row["id"]: row for row in due})
    return len(due)


@retrying
def _start(planned: str) -> list[Row]:
    """If the first try was committed and its answer was lost, the second one finds other revisions and does nothing."""
    return fetch("schedules_start", {"planned": planned})


def start_schedule(schedule_id: str, *, caller: Caller = SYSTEM) -> ScheduleRun:
    """Starts a task now, beside the ticks; also for a schedule that is paused. Raises ScheduleBusy if it allows no
    overlap and its last task has not ended."""
    require_may_create()
    row = read_row(schedule_id, caller=caller)
    to_definition(row).to_row(caller)  # the caller may give the actor work, and the payload is still valid
    asked = {"id": schedule_id, "task_id": new_task_id(), "scope": caller.tenant, "asked_by": caller.name}
    started = _fetch("schedule_start_now", asked)
    if not started:  # it was deleted in the meantime
        read_row(schedule_id, caller=caller)
    [run] = started
    if run["outcome"] == "skipped":
        raise ScheduleBusy(schedule_id, run["reason"])
    if run["outcome"] == "failed":
        raise InvalidPayload(f"payload: {run['reason']}", "payload")
    _announce([run], {schedule_id: row})
    return ScheduleRun.model_validate(run)


def _announce(runs: Sequence[Row], schedules: dict[str, Row]) -> None:
    """After the commit: the log, and hints for the workers."""
    for run in runs:
        schedule = schedules[run["schedule_id"]]
        known = {
            "schedule_id": schedule["id"],
            "schedule": schedule["name"],
            "tick": run["tick"],
            "missed": run["missed"],
        }
        match run["outcome"]:
            case "started":
                log.info("schedule started a task", **known, task_id=run["task_id"])
            case "skipped":
                log.info("schedule skipped a tick", **known, reason=run["reason"])
            case _:
                log.error("schedule could not start a task", **known, reason=run["reason"])
    started = [run for run in runs if run["outcome"] == "started"]
    log_transitions(
        [
            {
                "id": run["task_id"],
                "actor": schedules[run["schedule_id"]]["actor"],
                "epoch": 0,
                "status": run["task_status"],
            }
            for run in started
        ],
        **{"from": None},
    )
    notify_work({schedules[run["schedule_id"]]["queue"] for run in started if run["task_status"] == "queued"})
