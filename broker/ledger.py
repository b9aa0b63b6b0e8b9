"""The ledger: writes what executions report and how they ended, in batches. A worker's desk is the one who uses it."""

import time
from collections.abc import Callable

import psycopg

from broker.execution import Execution
from broker.failures import describe
from broker.storable import ResultNotJson
from state import claims
from state.bell import ring_tasks, ring_work
from state.claims import Report, Settlement
from state.connection import Connection, Row
from state.database import RETRYABLE
from state.gates import heed_retry_after
from state.logs import log, log_transitions

# What one row can do to a whole batch. Trying again would not help.
UNSTORABLE = (psycopg.DataError, psycopg.errors.ProgramLimitExceeded, TypeError, ValueError)

Taken = tuple[Execution, Report]


class Ledger:
    def __init__(self, worker: str, executions: dict[str, Execution], lose: Callable[[Execution], None]) -> None:
        self._worker = worker
        self._executions = executions
        self._lose = lose
        self._doubtful = False
        self._unanswered: list[Taken] = []  # reports that were on their way when a connection was lost

    def doubt(self) -> None:
        """A connection was lost, and perhaps settlements were on their way."""
        self._doubtful = True

    def write_reports(self, connection: Connection, ending: set[str]) -> None:
        unanswered, self._unanswered = self._unanswered, []
        self._write(connection, unanswered)
        self._write(connection, self._take(ending))

    def _take(self, ending: set[str]) -> list[Taken]:
        now = time.monotonic()
        taken: list[Taken] = []
        for execution in list(self._executions.values()):
            is_ending = execution.claimed.id in ending
            if not execution.lost and (is_ending or not execution.settled):
                report = execution.take_report(now, final=is_ending)
                if report is not None:
                    taken.append((execution, report))
        return taken

    def _write(self, connection: Connection, taken: list[Taken]) -> None:
        reports = [report for _, report in taken]
        if not reports:
            return
        try:
            owned = self._report(connection, reports)
        except RETRYABLE:
            self._unanswered = taken  # once more, under the same numbers: perhaps they have been written all the same
            raise
        for execution, report in taken:
            execution.written()
            if (report.id, report.epoch) not in owned:
                self._lose(execution)
        ring_tasks(each.id for each in reports)

    def _report(self, connection: Connection, reports: list[Report]) -> set[tuple[str, int]]:
        try:
            return claims.report(connection, reports)
        except UNSTORABLE:
            return self._report_singly(connection, reports)

    def _report_singly(self, connection: Connection, reports: list[Report]) -> set[tuple[str, int]]:
        """One bad line must not take the others with it."""
        owned: set[tuple[str, int]] = set()
        for each in reports:
            try:
                owned |= claims.report(connection, [each])
            except UNSTORABLE as refused:
                log.error("a report was refused", task_id=each.id, error=str(refused))
                owned.add((each.id, each.epoch))
        return owned

    def write_ends(self, connection: Connection, settlements: list[Settlement]) -> set[str]:
        """Answers the gates that tasks have left."""
        for each in settlements:
            if each.retry_after:  # first: it is true whatever becomes of us, and of our lease
                heed_retry_after(each.id, each.retry_after)
        try:
            rows = claims.settle(connection, settlements)
        except UNSTORABLE:
            rows = self._settle_singly(connection, settlements)
        self._account(connection, settlements, rows)
        return {gate for row in rows for gate in row["gates"]}

    def _settle_singly(self, connection: Connection, settlements: list[Settlement]) -> list[Row]:
        """One bad row must not take the others with it: it ends dead, with the reason."""
        rows: list[Row] = []
        for each in settlements:
            try:
                rows += claims.settle(connection, [each])
            except UNSTORABLE as refused:
                error = describe(ResultNotJson(f"The result cannot be stored: {refused}"))
                rows += claims.settle(connection, [Settlement(each.id, each.epoch, "failed", error=error)])
        return rows

    def _account(self, connection: Connection, settlements: list[Settlement], rows: list[Row]) -> None:
        written = {(row["id"], row["epoch"]) for row in rows}
        missing = [each for each in settlements if (each.id, each.epoch) not in written]
        if missing:
            before = claims.settled_before(connection, self._worker, missing) if self._doubtful else set()
            for each in missing:
                if (each.id, each.epoch) not in before and each.id in self._executions:
                    log.warning("lease lost", task_id=each.id, epoch=each.epoch, worker=self._worker)
        self._doubtful = False
        for each in settlements:
            execution = self._executions.get(each.id)
            if execution is not None and execution.claimed.epoch == each.epoch:
                self._executions.pop(each.id, None)
        log_transitions(rows, worker=self._worker)
        ring_tasks(row["id"] for row in rows)
        if any(row["status"] == "queued" for row in rows):
            ring_work({row["queue"] for row in rows if row["status"] == "queued"})
