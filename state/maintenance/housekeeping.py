"""The cluster's housekeeping, which the one maintainer does turn by turn."""

import time
from collections.abc import Callable

from state.database import Row
from state.database.errors import TRANSIENT
from state.gates.sampling import Sampling
from state.gates.waking import sweep_lines, wake
from state.logs import log
from state.maintenance.losses import BATCH, sweep_silent
from state.maintenance.maintainer import Due
from state.maintenance.partitions import Partitions
from state.maintenance.silence import LastSeen, Silence
from state.maintenance.sweep import remove_leftovers, sweep_due, sweep_expired, sweep_unknown
from state.media.collection import Collection
from state.metrics.measurement import Measurement
from state.projects.sweep import BATCH as RUNS
from state.projects.sweep import sweep_runs
from state.schedules.declarations import Declarations
from state.schedules.starts import BATCH as SCHEDULES
from state.schedules.starts import start_due
from state.settings import get_settings
from state.workers.registry import list_awaited_actors
from state.workflows.sweep import BATCH as WORKFLOWS
from state.workflows.sweep import WorkflowSweep

SLOW_TURNS = 10  # between two turns of what is not urgent: an idle cluster asks little of Postgres
_LEFTOVER_TURNS = 60  # between two removals of leftovers
_PART_SECONDS = 0.5  # after which a part lets the others have their turn


def _repeat(sweep: Callable[[], list[Row]]) -> bool:
    """Repeats a sweep until nothing is left or its time is over. Returns whether there is more to do."""
    until = time.monotonic() + _PART_SECONDS
    while len(sweep()) >= BATCH:
        if time.monotonic() >= until:
            return True
    return False


class TurnFailed(Exception):
    """A part of a turn has failed; the others have been done."""


class Housekeeping:
    """A new maintainer starts with a new one: it trusts only the silence that it has observed itself."""

    def __init__(self) -> None:
        self._silence = Silence(get_settings().lease_seconds)
        self._silent: dict[str, LastSeen] = {}
        self._measurement = Measurement()
        self._sampling = Sampling()
        self._partitions = Partitions()
        self._collection = Collection()
        self._warned: set[str] = set()
        self._last_line = ""
        self._workflows = WorkflowSweep()
        self._declarations = Declarations()
        self._turn = 0

    def do_turn(self, due: Due) -> bool:
        """Does the parts that have something to do, each in one or several short transactions. Returns whether there is
        more to do right away."""
        self._silent = self._silence.observe(due.last_seen)
        if not due.awaited:
            self._warned = set()
        if not due.lines:
            self._last_line = ""
        wanted: list[tuple[bool, Callable[[], bool]]] = [
            (due.schedules, self._start_schedules),
            (due.scheduled, self._move_due),
            (due.expired, self._end_too_old),
            (bool(self._silent), self._end_leases),
            (due.awaited, self._look_after_actors),
            (due.lines, self._wake_lines),
        ]
        parts = [part for is_due, part in wanted if is_due]
        if self._turn % SLOW_TURNS == 0:
            parts += [self._advance_workflows, self._write_declarations]
        if self._turn % SLOW_TURNS == 0 or self._measurement.unfinished:
            parts.append(self._measurement.take_turn)
        if self._sampling.is_due():
            parts.append(self._sample_gates)
        if self._partitions.is_due():
            parts.append(self._make_partitions)
        if self._turn % _LEFTOVER_TURNS == 0:
            parts += [self._end_stale_runs, self._remove_leftovers]
        if self._collection.is_due():
            parts.append(self._collect_bytes)
        self._turn += 1
        results = [self._do(part) for part in parts]
        if None in results:
            raise TurnFailed
        return any(results)

    def _do(self, part: Callable[[], bool]) -> bool | None:
        """Logs an error, so that the other parts are done. Without a database they cannot be done either."""
        try:
            return part()
        except TRANSIENT:
            raise
        except Exception:
            log.exception("maintenance: a part of the turn failed", part=part.__name__)
            return None

    def _start_schedules(self) -> bool:
        until = time.monotonic() + _PART_SECONDS
        while start_due() >= SCHEDULES:
            if time.monotonic() >= until:
                return True
        return False

    def _write_declarations(self) -> bool:
        """Schedules that the code declares: once, when this process becomes the maintainer."""
        self._declarations.write()
        return False

    def _move_due(self) -> bool:
        return _repeat(sweep_due)

    def _end_too_old(self) -> bool:
        return _repeat(sweep_expired)

    def _end_leases(self) -> bool:
        sweep_silent(self._silent)
        return False

    def _look_after_actors(self) -> bool:
        """Wakes tasks that wait for an actor if a worker knows it now; ends those that have waited too long."""
        awaited = list_awaited_actors()
        wake(f"actor:{row['actor']}" for row in awaited if row["known"])
        unknown = {row["actor"] for row in awaited if not row["known"]}
        for actor in sorted(unknown - self._warned):
            log.warning("tasks wait for an actor that no worker knows", actor=actor)
        self._warned = unknown
        return bool(unknown) and _repeat(sweep_unknown)

    def _wake_lines(self) -> bool:
        """Wakes some of the lines, from where the last turn stopped."""
        _, self._last_line = sweep_lines(self._last_line)
        return False

    def _advance_workflows(self) -> bool:
        """Looks at some of the running workflows, from where the last turn stopped."""
        return len(self._workflows.take_turn()) >= WORKFLOWS

    def _sample_gates(self) -> bool:
        self._sampling.take()
        return False

    def _make_partitions(self) -> bool:
        self._partitions.make()
        return False

    def _collect_bytes(self) -> bool:
        self._collection.start()
        return False

    def _end_stale_runs(self) -> bool:
        return len(sweep_runs()) >= RUNS

    def _remove_leftovers(self) -> bool:
        remove_leftovers()
        return False
