"""Tasks whose worker is gone: a sibling has proven that it is dead, or it is silent on two clocks. Their last reports
and ends are written if the worker has left any; the other tasks are lost, and queued again or dead."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from state import jsonsafe
from state.database import Connection, Parameters, Row, fetch, retrying
from state.database.errors import TRANSIENT, DatabaseError
from state.logs import log
from state.maintenance.silence import LastSeen
from state.masking import mask_data
from state.settings import get_settings
from state.tasks.announcements import announce_losses
from state.workers import leases
from state.workers.leases import Report, Settlement
from state.workers.registry import mark_stopped

BATCH = 1000
OnLoss = dict[str, Any]  # {"report": fields of a Report or None, "settlement": fields of a Settlement}

_fetch = retrying(fetch)


def set_on_loss(connection: Connection, worker: str, entries: Mapping[tuple[str, int], OnLoss]) -> set[tuple[str, int]]:
    """Stores what has to be written when this worker is dead, by (id, epoch): for a process that is about to end with
    code that cannot be stopped. A report has the next number of its execution. Returns the executions whose lease the
    worker still holds."""
    body = jsonsafe.dump([
        {"id": task_id, "epoch": epoch, "on_loss": {**on_loss, "report": mask_data(on_loss["report"])}}
        for (task_id, epoch), on_loss in sorted(entries.items())
    ])  # fmt: skip
    rows = fetch("lease_set_on_loss", {"worker": worker, "entries": body}, connection)
    return {(row["id"], row["epoch"]) for row in rows}


def recover(dead_workers: Sequence[str]) -> list[Row]:
    """Recovers the tasks of workers that are certainly dead. Two processes may do so at once."""
    if not dead_workers:
        return []
    rows = _recover({"dead_workers": list(dead_workers), "silent_workers": [], "silent_renewed": []})
    mark_stopped(dead_workers)
    return rows


def sweep_silent(silent: Mapping[str, LastSeen]) -> list[Row]:
    """Recovers the tasks of workers that an observer has not seen for as long as a lease lasts: those whose lease has
    expired by the database's clock as well."""
    if not silent:
        return []
    renewed = [_format(seen.renewed_at) for seen in silent.values()]
    rows = _recover({"dead_workers": [], "silent_workers": list(silent), "silent_renewed": renewed})
    _mark_silent_stopped(silent)
    return rows


def _recover(gone: Parameters) -> list[Row]:
    rows = _write_on_loss(gone)
    announce_losses(rows)
    while lost := _fetch("sweep_lost", {**gone, "limit": BATCH}):
        announce_losses(lost)
        rows += lost
        if len(lost) < BATCH:
            break
    return rows


def _write_on_loss(gone: Parameters) -> list[Row]:
    rows: list[Row] = []
    for lease in _fetch("leases_on_loss", gone):
        try:
            rows += _write(lease)
        except TRANSIENT:
            raise
        except (DatabaseError, TypeError, ValueError) as refused:  # this task is swept as lost, like the others
            log.error("the end that a lost worker left was refused", task_id=lease["task_id"], error=str(refused))
    return rows


@retrying
def _write(lease: Row) -> list[Row]:
    """Writes the report first. It has a number: after a failure in between it is not written twice."""
    on_loss: OnLoss = lease["on_loss"]
    execution = {"id": lease["task_id"], "epoch": lease["epoch"]}
    if on_loss["report"] is not None:
        leases.try_report(None, lease["worker_id"], [Report(**{**on_loss["report"], **execution})])
    rows, _ = leases.try_settle(None, lease["worker_id"], [Settlement(**{**on_loss["settlement"], **execution})])
    return [{**row, "before": "running", "worker_id": lease["worker_id"]} for row in rows]


def _mark_silent_stopped(silent: Mapping[str, LastSeen]) -> None:
    """So that workers of hosts that have vanished are not listed forever. A worker that comes back is listed again: its
    pulse sees to that."""
    parameters: Parameters = {
        "silent_workers": list(silent),
        "silent_seen": [_format(seen.seen_at) for seen in silent.values()],
        "lease_seconds": get_settings().lease_seconds,
    }
    _fetch("worker_stop_silent", parameters)


def _format(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
