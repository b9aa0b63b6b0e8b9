"""Identity of worker processes, and the proof that one on the same machine is dead."""

import os
import secrets
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from state.workers import processes

_HIDDEN_BOOT_ID = "_CALLBOARD_BOOT_ID"


class Place(NamedTuple):
    """Where a process runs: those of one place can ask the same kernel about each other."""

    host: str
    boot_id: str
    pid_namespace: str

    @classmethod
    def of_this_process(cls) -> "Place":
        return cls(socket.gethostname(), _read_boot_id(), _read_pid_namespace())


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, identified so that a process that gets its pid later, or has the same pid after a restart or in
    another container, is not taken for it."""

    id: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int | None  # the start time by the kernel, which no clock step changes; None if it cannot be read

    @classmethod
    def of_this_process(cls) -> "Identity":
        place, pid = Place.of_this_process(), os.getpid()
        return cls(
            id=f"{place.host}:{pid}:{secrets.token_hex(4)}",
            **place._asdict(),
            pid=pid,
            start_ticks=processes.find_start_ticks(pid),
        )


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another worker process of the same host, boot and pid namespace."""

    id: str
    pid: int
    start_ticks: int | None


def is_dead(sibling: Sibling) -> bool:
    """Returns whether the kernel proves that the process has ended. A sibling with our own pid was replaced by this
    process: a replacement keeps pid and start time."""
    return sibling.pid == os.getpid() or processes.is_gone(sibling.pid, sibling.start_ticks)


def _read_boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        if sys.platform != "linux":
            return str(psutil.boot_time())
    # Hidden (systemd: ProcSubset=pid). Only programs that replace this one, or that it starts, know that they run in
    # the same boot; for all others this process is gone when its leases have ended.
    return os.environ.setdefault(_HIDDEN_BOOT_ID, f"hidden {secrets.token_hex(16)}")


def _read_pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
