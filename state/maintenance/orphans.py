"""Looks for lost and due tasks on request, and says what it found. The maintainer does the same each second."""

import os
from dataclasses import dataclass, field

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row
from state.gates.waking import sweep_lines
from state.logs import log
from state.maintenance.silence import Silence
from state.maintenance.sweep import read_last_seen, sweep
from state.settings import get_settings
from state.workers.identity import Identity
from state.workers.registry import find_dead_siblings

_MOST_ROUNDS = 100


@dataclass(slots=True)
class Recovered:
    """Rows {id, actor, queue, before, status} of the tasks that were moved, by the reason."""

    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)
    due: list[Row] = field(default_factory=list)
    woken: list[Row] = field(default_factory=list)
    dead_workers: list[str] = field(default_factory=list)


_silence: Silence | None = None  # this process's own observer


def _get_observer() -> Silence:
    global _silence
    _silence = _silence or Silence(get_settings().lease_seconds)
    return _silence


def _forget_after_fork() -> None:
    global _silence
    _silence = None


os.register_at_fork(after_in_child=_forget_after_fork)


def requeue_orphaned(*, caller: Caller = SYSTEM) -> Recovered:
    """Sweeps until nothing more is found. Workers of this machine that are provably dead are recovered at once; the
    leases of others end if this process itself has observed their silence for as long, from one request to the next."""
    require_no_tenant(caller)
    silent = _get_observer().observe(read_last_seen())
    found = Recovered(dead_workers=find_dead_siblings(Identity.of_this_process()))
    for _ in range(_MOST_ROUNDS):
        swept = sweep(found.dead_workers, silent)
        found.lost += swept.lost
        found.expired += swept.expired
        found.due += swept.due
        if not swept.more:
            break
    after = ""
    for _ in range(_MOST_ROUNDS):
        woken, after = sweep_lines(after)
        found.woken += woken
        if not after:
            break
    counts = {name: len(getattr(found, name)) for name in ("lost", "expired", "due", "woken", "dead_workers")}
    log.info("orphaned tasks looked for", by=caller.name, **counts)
    return found
