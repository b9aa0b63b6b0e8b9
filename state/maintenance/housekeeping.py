"""The cluster's housekeeping, as the one maintainer does it, turn by turn."""

import time
from collections.abc import Callable

from state.database.connection import Row
from state.database.errors import TRANSIENT
from state.gates.waking import sweep_lines, wake
from state.logs import log
from state.maintenance.losses import BATCH, sweep_silent
from state.maintenance.silence import Silence
from state.maintenance.sweep import read_signs, sweep_due, sweep_expired, sweep_leftovers, sweep_unknown
from state.settings import get_settings
from state.workers.registry import awaited_actors

_LEFTOVERS = 60  # turns
_SHARE = 0.5  # seconds that one part may take before the others have their turn


def _repeat(sweep: Callable[[], list[Row]]) -> bool:
    """Until nothing is left, or its time is over: then there is more to do."""
    until = time.monotonic() + _SHARE
    while len(sweep()) >= BATCH:
        if time.monotonic() >= until:
            return True
    return False


class TurnFailed(Exception):
    """Some part of a turn has failed; the others have been done."""


class Housekeeping:
    """A new maintainer makes a new one: what it knows of the workers' silence is what it has observed itself."""

    def __init__(self) -> None:
        self._silence = Silence(get_settings().lease_seconds)
        self._warned: set[str] = set()
        self._last_line = ""
        self._turn = 0

    def do_turn(self) -> bool:
        """Each part is a short transaction, or several. Returns whether there is more to do right away."""
        parts: list[Callable[[], bool]] = [
            self._move_due, self._end_too_old, self._end_leases, self._look_after_actors, self._wake_lines
        ]  # fmt: skip
        if self._turn % _LEFTOVERS == 0:
            parts.append(self._remove_leftovers)
        self._turn += 1
        results = [self._do(part) for part in parts]
        if None in results:
            raise TurnFailed
        return any(results)

    def _do(self, part: Callable[[], bool]) -> bool | None:
        """An error in one part must not keep the others from being done. Without a database there are no others."""
        try:
            return part()
        except TRANSIENT:
            raise
        except Exception:
            log.exception("maintenance: a part of the turn failed", part=part.__name__)
            return None

    def _move_due(self) -> bool:
        return _repeat(sweep_due)

    def _end_too_old(self) -> bool:
        return _repeat(sweep_expired)

    def _end_leases(self) -> bool:
        sweep_silent(self._silence.observe(read_signs()))
        return False

    def _look_after_actors(self) -> bool:
        """Tasks that wait for an actor: who can be helped is woken, the others are dead after a while."""
        awaited = awaited_actors()
        wake(f"actor:{row['actor']}" for row in awaited if row["known"])
        unknown = {row["actor"] for row in awaited if not row["known"]}
        for actor in sorted(unknown - self._warned):
            log.warning("tasks wait for an actor that no worker knows", actor=actor)
        self._warned = unknown
        return bool(unknown) and _repeat(sweep_unknown)

    def _wake_lines(self) -> bool:
        """Some of the gates that have a line, from where the last turn stopped."""
        _, self._last_line = sweep_lines(self._last_line)
        return False

    def _remove_leftovers(self) -> bool:
        sweep_leftovers()
        return False
