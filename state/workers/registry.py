"""Worker processes: who they are, their pulse, and how a sibling on the same machine knows that one is dead."""

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from state.database.connection import Connection, Parameters, Row
from state.database.pool import fetch, fetch_often, get_database, retrying
from state.database.statements import statement
from state.gates.waking import wake
from state.maintenance.losses import recover as recover
from state.maintenance.losses import set_on_loss as set_on_loss
from state.maintenance.maintainer import LEASE_SECONDS
from state.settings import get_settings
from state.workers import processes


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, named so that its pid being used again, a restart or another container cannot be mistaken for it."""

    id: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    process_started: float  # by the wall clock, which may be stepped; for workers of release 15, which compare it
    start_ticks: int | None  # by the kernel; None where it cannot be had

    @classmethod
    def of_this_process(cls) -> "Identity":
        host, pid = socket.gethostname(), os.getpid()
        return cls(
            id=f"{host}:{pid}:{secrets.token_hex(4)}",
            host=host,
            boot_id=_read("/proc/sys/kernel/random/boot_id"),
            pid_namespace=_link("/proc/self/ns/pid"),
            pid=pid,
            process_started=psutil.Process().create_time(),
            start_ticks=processes.find_start_ticks(pid),
        )


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another worker process of the same host, boot and pid namespace."""

    id: str
    pid: int
    start_ticks: int | None


@dataclass(frozen=True, slots=True)
class HeldLease:
    id: str
    epoch: int
    claim_number: int
    cancel_requested: str | None
    renewed: bool  # False: somebody else has locked it, so it still ends when it did before


@dataclass(frozen=True, slots=True)
class Pulse:
    leases: list[HeldLease]
    has_work: bool  # something is queued in one of the worker's queues that is not paused
    retry_depth: int  # of the retry lane, counted up to the limit that was asked for
    siblings: list[Sibling]
    maintainer_vacant: bool


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return str(psutil.boot_time())  # not Linux


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def register(identity: Identity, queues: Sequence[str], threads: int, actors: Sequence[str] = ()) -> None:
    """Also opens the gates at which tasks wait for a worker that knows their actor."""
    _register(identity, queues, threads, actors)
    awaited = {row["actor"] for row in awaited_actors()}
    wake(f"actor:{name}" for name in awaited.intersection(actors))


@retrying
def _register(identity: Identity, queues: Sequence[str], threads: int, actors: Sequence[str]) -> None:
    fields = {name: getattr(identity, name) for name in Identity.__slots__}
    _execute("worker_register", {**fields, "queues": list(queues), "threads": threads, "actors": list(actors)})


@retrying
def awaited_actors() -> list[Row]:
    """Rows {actor, known}: the actors that tasks wait for, and whether a worker has registered that knows them."""
    return fetch_often("awaited_actors", {})


@retrying
def stopped(ids: Sequence[str]) -> None:
    """A worker that still has leases is not marked: its siblings recover them when it is dead."""
    _execute("worker_stop", {"ids": list(ids)})


def _execute(name: str, parameters: dict[str, object]) -> None:
    with get_database().pool().connection() as connection:
        connection.execute(statement(name), parameters)


def pulse(connection: Connection, worker: str, queues: Sequence[str], retry_limit: int) -> Pulse:
    """Renews the worker's leases and lists them, with what has been asked of their tasks; and says what an idle worker
    must know."""
    parameters: Parameters = {
        "worker": worker,
        "lease_seconds": get_settings().lease_seconds,
        "queues": list(queues),
        "retry_limit": retry_limit,
        "maintainer_seconds": LEASE_SECONDS,
    }
    [row] = connection.fetch("pulse", parameters)
    return Pulse(
        leases=[HeldLease(**lease) for lease in row["leases"]],
        has_work=row["has_work"],
        retry_depth=row["retry_depth"],
        siblings=[Sibling(**sibling) for sibling in row["siblings"]],
        maintainer_vacant=row["maintainer_vacant"],
    )


def is_dead(sibling: Sibling) -> bool:
    """Whether the kernel proves it. One that had our own pid was replaced by us: that keeps pid and start time."""
    return sibling.pid == os.getpid() or processes.is_gone(sibling.pid, sibling.start_ticks)


@retrying
def dead_siblings(identity: Identity) -> list[str]:
    """For a process that has no pulse, which would name its siblings."""
    place: Parameters = {name: getattr(identity, name) for name in ("id", "host", "boot_id", "pid_namespace")}
    siblings = [Sibling(**row) for row in fetch_often("worker_siblings", place)]
    return [sibling.id for sibling in siblings if is_dead(sibling)]


@retrying
def list_workers() -> list[Row]:
    return fetch("workers", {})
