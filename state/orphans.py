"""Tasks whose worker is gone. The sweep finds them each second; here somebody wants it now, and hears what it found."""

from dataclasses import dataclass, field

from state.connection import Row
from state.gates import sweep_lines
from state.sweep import sweep
from state.workers import Identity, dead_neighbors

_MOST_ROUNDS = 100


@dataclass(slots=True)
class Recovered:
    """Rows {id, actor, queue, before, status} by what had happened to them."""

    lost: list[Row] = field(default_factory=list)
    expired: list[Row] = field(default_factory=list)
    due: list[Row] = field(default_factory=list)
    woken: list[Row] = field(default_factory=list)
    dead_workers: list[str] = field(default_factory=list)


def requeue_orphaned() -> Recovered:
    """Runs the sweep until it finds nothing more. Workers of this machine that are provably dead count at once."""
    found = Recovered(dead_workers=dead_neighbors(Identity.of_this_process()))
    for _ in range(_MOST_ROUNDS):
        swept = sweep(found.dead_workers)
        found.lost += swept.lost
        found.expired += swept.expired
        found.due += swept.due
        if not swept.more:
            break
    found.woken += sweep_lines()
    return found
