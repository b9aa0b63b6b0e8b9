"""Processes of this machine, as the kernel reports them."""

import ctypes
import gc
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil

_PR_SET_DUMPABLE = 4


class ProcessStat(NamedTuple):
    state: str
    threads: int
    start_ticks: int  # since the boot, by a clock that cannot be stepped


def read_stat(pid: int) -> ProcessStat:
    """Raises OSError if /proc cannot be read, or belongs to another pid namespace."""
    _require_own_proc()
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    fields = text.rpartition(")")[2].split()  # the command's name before it may contain any character
    return ProcessStat(state=fields[0], threads=int(fields[17]), start_ticks=int(fields[19]))


def _require_own_proc() -> None:
    if str(Path("/proc/self").readlink()) != str(os.getpid()):
        raise FileNotFoundError(f"/proc does not know this process as {os.getpid()}")


def list_descendants(pid: int) -> list[int]:
    """Returns the pids of the children of a process, and of theirs, as far as they can be seen."""
    try:
        if sys.platform == "linux":
            _require_own_proc()
        if not Path(f"/proc/{pid}/task/{pid}/children").exists():
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except (psutil.Error, OSError):
        return []
    # psutil would ask for the time of the boot as well, which may be hidden (systemd: ProcSubset=pid).
    found = [pid]
    for each in found:  # the list grows during the loop
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # the thread has just ended
                found += map(int, children.read_text().split())
    return found[1:]


def hide_memory() -> None:
    """Keeps other processes of the same user, such as the commands of tasks, from reading this one's environment and
    memory in /proc. A program that replaces this one has to do it again. Only Linux knows this."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@cache
def relieve_collector() -> None:
    """Keeps Python's garbage collector from looking again and again at what a process has made at its start, modules
    above all, and lets it look less often at the rest: most of what requests and tasks make is freed without it."""
    gc.freeze()
    gc.set_threshold(10_000)


def find_start_ticks(pid: int) -> int | None:
    try:
        return read_stat(pid).start_ticks
    except OSError:
        return None


def is_gone(pid: int, start_ticks: int | None) -> bool:
    """Returns whether the process with this pid, and this start time if it is known, has certainly ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # a process of another user, which may have got the pid since
    try:
        stat = read_stat(pid)
    except OSError:
        return False  # hidden: only "no such process" from the kernel would be proof
    ended = stat.state in "Xx" or (stat.state == "Z" and stat.threads <= 1)  # other threads may live longer
    return ended or (start_ticks is not None and stat.start_ticks != start_ticks)
