"""The register of worker processes: which of them live, and which actors they know."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from state.access.caller import SYSTEM, Caller
from state.access.permissions import require_no_tenant
from state.database import Row, fetch, retrying
from state.gates.waking import wake
from state.tasks.catalog import is_async
from state.workers.identity import Identity, Sibling, is_dead

_MOST_TASKS = 200  # of each worker: those that have started first


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
    fetch(
        "worker_register",
        {**fields, **places, "version": version("callboard"), "queues": list(queues), "actors": list(actors)},
    )


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
    """The workers that have not stopped, with the tasks that each runs."""
    require_no_tenant(caller)
    return [{**row, **count_places(row["by_actor"])} for row in fetch("workers", {"tasks_each": _MOST_TASKS})]


def count_places(by_actor: Mapping[str, int]) -> dict[str, int]:
    """Counts the places that tasks of these actors use. An actor that this process does not know counts as one of
    threads."""
    asynchronous = sum(tasks for actor, tasks in by_actor.items() if is_async(actor))
    running = sum(by_actor.values())
    return {"running": running, "threads_busy": running - asynchronous, "coroutines_busy": asynchronous}
