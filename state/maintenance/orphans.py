"""Tasks whose worker is gone. The maintainer finds them each second; here somebody wants it now, and hears what it
found."""

import os
from dataclasses import dataclass, field

from state.database.connection import Row
from state.gates.waking import sweep_lines
from state.maintenance.silence import Silence
from state.maintenance.sweep import read_signs, sweep
from state.settings import get_settings
from state.workers.registry import Identity, dead_siblings

_MOST_ROUNDS = 100


@dataclass(slots=True)
class Recovered:
    """Rows {id, actor, queue, before, status} by what had happened to them."""

    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)
    due: list[Row] = field(default_factory=list)
    woken: list[Row] = field(default_factory=list)
    dead_workers: list[str] = field(default_factory=list)


_silence: Silence | None = None  # the process's own observer


def _observer() -> Silence:
    global _silence
    _silence = _silence or Silence(get_settings().lease_seconds)
    return _silence


def _forget_after_fork() -> None:
    global _silence
    _silence = None


os.register_at_fork(after_in_child=_forget_after_fork)


def requeue_orphaned() -> Recovered:
    """Runs the sweep until it finds nothing more. Workers of this machine that are provably dead count at once; the
    leases of others end when this process itself has seen them silent for as long, from one request to the next."""
    silent = _observer().observe(read_signs())
    found = Recovered(dead_workers=dead_siblings(Identity.of_this_process()))
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
    return found
