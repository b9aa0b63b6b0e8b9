"""Tasks whose worker is gone: proven dead by a sibling, or silent on two clocks. What it has left to be written is
written; the rest is lost, and queued again or dead."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from state import jsonsafe
from state.database.connection import Connection, Parameters, Row
from state.database.errors import TRANSIENT
from state.database.pool import connection, fetch_often, pooled, retrying
from state.database.statements import statement
from state.logs import log
from state.maintenance.announcements import announce_losses
from state.maintenance.silence import Sign
from state.masking import mask_data
from state.settings import get_settings
from state.workers import leases
from state.workers.leases import Report, Settlement

BATCH = 1000
OnLoss = dict[str, Any]  # {"report": fields of a Report or None, "settlement": fields of a Settlement}

_ask = retrying(fetch_often)


def set_on_loss(connection: Connection, worker: str, entries: Mapping[tuple[str, int], OnLoss]) -> set[tuple[str, int]]:
    """For a process that is about to end with code that cannot be stopped: what is to be written once it is dead, by
    (id, epoch). A report has the number that is next for its execution. Returns those that are still the worker's."""
    body = jsonsafe.dump([
        {"id": task_id, "epoch": epoch, "on_loss": {**on_loss, "report": mask_data(on_loss["report"])}}
        for (task_id, epoch), on_loss in sorted(entries.items())
    ])  # fmt: skip
    rows = connection.fetch("lease_set_on_loss", {"worker": worker, "entries": body})
    return {(row["id"], row["epoch"]) for row in rows}


def recover(dead_workers: Sequence[str]) -> list[Row]:
    """For workers that are certainly dead. Two who do it at once do no harm."""
    if not dead_workers:
        return []
    rows = _recover({"dead_workers": list(dead_workers), "silent_workers": [], "silent_renewed": []})
    _stop_dead(dead_workers)
    return rows


def sweep_silent(silent: Mapping[str, Sign]) -> list[Row]:
    """For workers that an observer has heard nothing of for as long as a lease lasts. What has run out on the
    database's clock as well is taken from them."""
    if not silent:
        return []
    renewed = [_text(sign.renewed_at) for sign in silent.values()]
    rows = _recover({"dead_workers": [], "silent_workers": list(silent), "silent_renewed": renewed})
    _stop_silent(silent)
    return rows


def _recover(gone: Parameters) -> list[Row]:
    rows = _write_last_words(gone)
    announce_losses(rows)
    while lost := _ask("sweep_lost", {**gone, "limit": BATCH}):
        announce_losses(lost)
        rows += lost
        if len(lost) < BATCH:
            break
    return rows


def _write_last_words(gone: Parameters) -> list[Row]:
    rows: list[Row] = []
    for lease in _ask("leases_on_loss", gone):
        try:
            rows += _write(lease)
        except TRANSIENT:
            raise
        except (psycopg.Error, TypeError, ValueError) as refused:  # it is swept as lost, like the others
            log.error("last words were refused", task_id=lease["task_id"], error=str(refused))
    return rows


@retrying
def _write(lease: Row) -> list[Row]:
    """The report first, under its number: written again after a failure in between, it is written once."""
    on_loss: OnLoss = lease["on_loss"]
    execution = {"id": lease["task_id"], "epoch": lease["epoch"]}
    with pooled() as own:
        if on_loss["report"] is not None:
            leases.try_report(own, lease["worker_id"], [Report(**{**on_loss["report"], **execution})])
        rows, _ = leases.try_settle(own, lease["worker_id"], [Settlement(**{**on_loss["settlement"], **execution})])
    return [{**row, "before": "running", "worker_id": lease["worker_id"]} for row in rows]


@retrying
def _stop_dead(workers: Sequence[str]) -> None:
    with connection() as used:
        used.execute(statement("worker_stop"), {"ids": list(workers)})


@retrying
def _stop_silent(silent: Mapping[str, Sign]) -> None:
    """Workers of hosts that have vanished are not listed for ever. One that comes back is: its pulse says so."""
    with connection() as used:
        used.execute(
            statement("worker_stop_silent"),
            {
                "silent_workers": list(silent),
                "silent_seen": [_text(sign.seen_at) for sign in silent.values()],
                "lease_seconds": get_settings().lease_seconds,
            },
        )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
