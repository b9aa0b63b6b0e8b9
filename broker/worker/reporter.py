"""The reporter: writes reports and ends of executions in batches, on the dispatcher's connection. It keeps what could
not be written and tries again; it gives up only values that the database can never store."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from broker.execution.execution import Execution, Key
from broker.execution.failures import describe
from broker.execution.held import HeldTasks
from broker.execution.storable import ResultNotJson
from broker.metrics.measurements import note_ends
from broker.worker.backoff import Backoff
from state.database import Connection, Row
from state.database.errors import kind_of
from state.database.notifier import notify_tasks, notify_work
from state.logs import log, log_transitions
from state.tasks.followers import announce_followers
from state.workers import leases
from state.workers.leases import Report, Settlement

Taken = tuple[Execution, Report]
_T = TypeVar("_T")
_R = TypeVar("_R")

_AFTER_BUG = 5.0  # seconds until the next try after an unexpected error
_LOCKED_GATE = 0.05  # seconds until the next try to close a gate that another transaction has locked


class Reporter:
    def __init__(self, held: HeldTasks) -> None:
        self._held = held
        self._connection_was_lost = False
        self._unwritten: list[Taken] = []  # reports whose write has failed
        self._postponed: list[Settlement] = []  # ends of locked tasks, or with an unexpected error
        self._not_before = 0.0  # when these are tried again
        self._locked = Backoff()
        self._closing: dict[str, tuple[float, float]] = {}  # by task: when its service asked to wait, and for how long

    def note_connection_lost(self) -> None:
        """Ends may have been written although their answer was lost with the connection."""
        self._connection_was_lost = True

    def get_timeout(self) -> float:
        """Returns how long the next write may wait."""
        now = time.monotonic()
        left = self._not_before - now if self._postponed or self._unwritten else float("inf")
        return max(min(left, _LOCKED_GATE if self._closing else left), 0.001)

    def write(self, connection: Connection) -> set[str]:
        """Writes the reports that are due, then the ends. Returns the gates that tasks have left."""
        ends = self._held.take_ends()
        if self._postponed and time.monotonic() >= self._not_before:
            ends, self._postponed = [*self._postponed, *ends], []
        try:
            ends = self._write_reports(connection, ends)
            self._close_gates(connection, ends)
            return self._write_ends(connection, ends) if ends else set()
        except BaseException:
            self._held.return_ends(ends)
            raise

    # Reports.

    def _write_reports(self, connection: Connection, ends: list[Settlement]) -> list[Settlement]:
        """Writes the reports that are due, and all reports of executions that end. Returns the ends that may be
        written now."""
        ending = {(each.id, each.epoch) for each in ends}
        if self._unwritten and time.monotonic() >= self._not_before:
            unwritten, self._unwritten = self._unwritten, []
            self._write(connection, unwritten)
        self._write(connection, self._take(ending))
        if not self._unwritten:
            return ends
        held_up = {execution.key for execution, _ in self._unwritten}
        self._postponed += [each for each in ends if (each.id, each.epoch) in held_up]
        return [each for each in ends if (each.id, each.epoch) not in held_up]

    def _take(self, ending: set[Key]) -> list[Taken]:
        now = time.monotonic()
        held_up = {execution.key for execution, _ in self._unwritten}
        taken: list[Taken] = []
        for execution in self._held.executions():
            is_ending = execution.key in ending
            if (is_ending or execution.state == "running") and execution.key not in held_up:
                report = execution.take_report(now, final=is_ending)
                if report is not None:
                    taken.append((execution, report))
        return taken

    def _write(self, connection: Connection, taken: list[Taken]) -> None:
        if not taken:
            return
        try:
            owned, busy = leases.try_report(connection, self._held.worker, [report for _, report in taken])
        except Exception as failure:
            if kind_of(failure) in ("again", "reconnect"):
                self._unwritten += taken  # under the same numbers: no report is written twice
                raise
            self._write_singly(connection, taken)
        else:
            self._note_reports(taken, owned, busy)

    def _write_singly(self, connection: Connection, taken: list[Taken]) -> None:
        """Writes each report by itself, so that one bad report does not keep the others from being written."""

        def write(each: Taken) -> None:
            self._note_reports([each], *leases.try_report(connection, self._held.worker, [each[1]]))

        left, failures = _isolate(taken, write)
        for (execution, report), failure in failures:
            if kind_of(failure) == "bad row":
                log.error("a report was refused", task_id=report.id, error=str(failure))
                execution.note_report_written()
            else:
                self._postpone(report.id, failure)
                self._unwritten.append((execution, report))
        if left:
            self._unwritten += left
            raise failures[-1][1]

    def _note_reports(self, taken: Sequence[Taken], owned: set[Key], busy: set[Key]) -> None:
        for execution, report in taken:
            if execution.key in busy:
                self._unwritten.append((execution, report))
                continue
            execution.note_report_written()
            if execution.key not in owned:
                self._held.lose(execution)
        self._wait_for_locks(busy)
        notify_tasks(report.id for _, report in taken)

    # Ends.

    def _write_ends(self, connection: Connection, ends: list[Settlement]) -> set[str]:
        try:
            rows, busy = leases.try_settle(connection, self._held.worker, ends)
        except Exception as failure:
            if kind_of(failure) in ("again", "reconnect"):
                raise
            return self._settle_singly(connection, ends)
        return self._note_ends(connection, ends, rows, busy)

    def _settle_singly(self, connection: Connection, ends: Sequence[Settlement]) -> set[str]:
        freed: set[str] = set()

        def settle(each: Settlement) -> None:
            freed.update(self._settle_one(connection, each))

        left, failures = _isolate(ends, settle)
        for each, failure in failures:
            if kind_of(failure) not in ("again", "reconnect"):
                self._postpone(each.id, failure)
                self._postponed.append(each)
        if left:
            self._held.return_ends(left)
        return freed

    def _settle_one(self, connection: Connection, end: Settlement) -> set[str]:
        try:
            rows, busy = leases.try_settle(connection, self._held.worker, [end])
        except Exception as refused:
            if kind_of(refused) != "bad row":
                raise
            error = describe(ResultNotJson(f"The result cannot be stored: {refused}"))
            end = Settlement(end.id, end.epoch, "failed", error=error)
            rows, busy = leases.try_settle(connection, self._held.worker, [end])
        return self._note_ends(connection, [end], rows, busy)

    def _note_ends(
        self, connection: Connection, ends: Sequence[Settlement], rows: list[Row], busy: set[Key]
    ) -> set[str]:
        if busy:
            self._postponed += [each for each in ends if (each.id, each.epoch) in busy]
            ends = [each for each in ends if (each.id, each.epoch) not in busy]
        self._wait_for_locks(busy)
        written = {(row["id"], row["epoch"]) for row in rows}
        missing = [each for each in ends if (each.id, each.epoch) not in written]
        if missing:
            settled: set[Key] = set()
            if self._connection_was_lost:
                settled = leases.find_settled(connection, self._held.worker, missing)
            for each in missing:
                if (each.id, each.epoch) not in settled and self._held.get((each.id, each.epoch)) is not None:
                    log.warning("lease lost", task_id=each.id, epoch=each.epoch, worker=self._held.worker)
        self._connection_was_lost = False
        self._held.finish(ends)
        note_ends(ends, rows)
        log_transitions(rows, worker=self._held.worker)
        notify_tasks(row["id"] for row in rows)
        if any(row["status"] == "queued" for row in rows):
            notify_work({row["queue"] for row in rows if row["status"] == "queued"})
        announce_followers(rows, connection)
        return {gate for row in rows for gate in row["gates"]}

    def _wait_for_locks(self, busy: set[Key]) -> None:
        """Postpones the next try for tasks that another transaction has locked."""
        if busy:
            self._not_before = time.monotonic() + self._locked.next()
        else:
            self._locked.reset()

    def _postpone(self, task_id: str, failure: BaseException) -> None:
        log.error("not written, trying again", task_id=task_id, error=str(failure).strip(), exc_info=failure)
        self._not_before = time.monotonic() + _AFTER_BUG

    # Retry-After.

    def _close_gates(self, connection: Connection, ends: Sequence[Settlement]) -> None:
        """Closes the gates of services that asked to wait: before the ends are written, because it is true even if the
        lease is lost. Does not wait for locked gates."""
        now = time.monotonic()
        self._closing.update({each.id: (now, each.retry_after) for each in ends if each.retry_after})
        left = {task_id: seconds - (now - since) for task_id, (since, seconds) in self._closing.items()}
        wanted = {task_id: seconds for task_id, seconds in left.items() if seconds > 0}
        busy = leases.close_gates(connection, wanted) if wanted else set()
        self._closing = {task_id: each for task_id, each in self._closing.items() if task_id in busy}


def _isolate(items: Sequence[_T], write: Callable[[_T], _R]) -> tuple[list[_T], list[tuple[_T, Exception]]]:
    """Writes each item by itself. Returns the items from the first one on that failed because the connection is lost,
    and the items that failed with their errors."""
    failures: list[tuple[_T, Exception]] = []
    for place, each in enumerate(items):
        try:
            write(each)
        except Exception as failure:
            failures.append((each, failure))
            if kind_of(failure) in ("again", "reconnect"):
                return list(items[place:]), failures
    return [], failures
