"""The register of worker processes: which of them live, and which actors they know."""

from collections.abc import Sequence

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch, retrying
from state.gates.waking import wake
from state.workers.identity import Identity, Sibling, is_dead


def register(
    identity: Identity, queues: Sequence[str], threads: int, actors: Sequence[str] = (), *, coroutines: int = 0
) -> None:
    """Enters a worker. Also wakes the tasks that wait for a worker that knows their actor."""
    _register(identity, queues, threads, coroutines, actors)
    awaited = {row["actor"] for row in list_awaited_actors()}
    wake(f"actor:{name}" for name in awaited.intersection(actors))


@retrying
def _register(identity: Identity, queues: Sequence[str], threads: int, coroutines: int, actors: Sequence[str]) -> None:
    fields = {name: getattr(identity, name) for name in Identity.__slots__}
    places = {"threads": threads, "coroutines": coroutines}
    fetch("worker_register", {**fields, **places, "queues": list(queues), "actors": list(actors)})


@retrying
def list_awaited_actors() -> list[Row]:
    """Returns rows {actor, known}: the actors that tasks wait for, and whether a registered worker knows them."""
    return fetch("awaited_actors", {})


@retrying
def mark_stopped(workers: Sequence[str]) -> None:
    """A worker that still has leases is not marked: its siblings recover its tasks when it is dead."""
    fetch("worker_stop", {"ids": list(workers)})


@retrying
def find_dead_siblings(identity: Identity) -> list[str]:
    """For a process that has no pulse, whose answer would list its siblings."""
    place = {name: getattr(identity, name) for name in ("id", "host", "boot_id", "pid_namespace")}
    siblings = [Sibling(**row) for row in fetch("worker_siblings", place)]
    return [sibling.id for sibling in siblings if is_dead(sibling)]


@retrying
def list_workers(*, caller: Caller = SYSTEM) -> list[Row]:
    require_no_tenant(caller)
    return fetch("workers", {})
