"""Worker processes: who they are, and how a neighbor on the same machine knows that one is dead."""

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from state.connection import Row
from state.database import fetch, fetch_often, get_database, retrying
from state.statements import statement


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, named so that its pid being used again, a restart or another container cannot be mistaken for it."""

    id: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    process_started: float

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
        )


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


def _execute(name: str, parameters: dict[str, object]) -> None:
    with get_database().pool().connection() as connection:
        connection.execute(statement(name), parameters)


@retrying
def register(identity: Identity, queues: Sequence[str], threads: int) -> None:
    fields = {name: getattr(identity, name) for name in Identity.__slots__}
    _execute("worker_register", {**fields, "queues": list(queues), "threads": threads})


@retrying
def stopped(ids: Sequence[str]) -> None:
    _execute("worker_stop", {"ids": list(ids)})


def dead_neighbors(identity: Identity) -> list[str]:
    """Workers of this machine whose process is certainly gone: recovery need not wait for their leases."""
    place = {"host": identity.host, "boot_id": identity.boot_id, "pid_namespace": identity.pid_namespace}
    others = [row for row in fetch_often("worker_neighbors", place) if row["id"] != identity.id]
    # One that had our own pid was replaced by us.
    return [row["id"] for row in others if row["pid"] == identity.pid or not _lives(row["pid"], row["process_started"])]


def _lives(pid: int, process_started: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - process_started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True  # cannot tell: the lease will


@retrying
def list_workers() -> list[Row]:
    return fetch("workers", {})
