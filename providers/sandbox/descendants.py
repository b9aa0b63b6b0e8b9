"""The descendants of this process, also those that have left its process group or its session. On Linux orphans among
them become our children; elsewhere a process that has lost its parent and left its group cannot be found."""

import ctypes
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_ROUND = 0.002  # seconds between two rounds of killing


def _prctl(option: int) -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(option, 1, 0, 0, 0) == 0)
    except AttributeError:  # not Linux
        return False


def adopt_orphans() -> bool:
    """Makes descendants that lose their parent our children. Returns whether the system can do that."""
    return _prctl(_PR_SET_CHILD_SUBREAPER)


def drop_privileges() -> None:
    """Keeps programs from getting another user's rights, because we could not kill them."""
    _prctl(_PR_SET_NO_NEW_PRIVS)


def list_descendants() -> list[int]:
    """Returns the pids of all descendants, zombies included. On Linux only descendants are read: a look at all
    processes takes so long that a process that forks quickly escapes."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        return [process.pid for process in psutil.Process().children(recursive=True)]
    found = [os.getpid()]
    for pid in found:  # the list grows during the loop
        found += _list_children(pid)
    return found[1:]


def _list_children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # the process has just ended, and its children are ours now
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  (several times faster)
            with open(f"/proc/{pid}/task/{thread}/children") as children:  # noqa: PTH123
                found += map(int, children.read().split())
    return found


def kill_descendants(reap: Callable[[], bool], seconds: float) -> list[int]:
    """Kills all descendants. Returns the pids of those that are left after that time. `reap` collects ended children
    and returns whether any child is left; in the end all descendants are our children."""
    deadline = time.monotonic() + seconds
    while reap():
        found = list_descendants()
        if time.monotonic() >= deadline:
            return found
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_ROUND)
    return []
