"""All that descends from this process, also what has left its process group or its session. Linux gives us the orphans
among them; elsewhere a process that has lost its parent and left its group cannot be found."""

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
_PASS = 0.002  # seconds between two rounds of killing


def _prctl(option: int) -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(option, 1, 0, 0, 0) == 0)
    except AttributeError:  # not Linux
        return False


def adopt_orphans() -> bool:
    """Whether whoever loses its parent among our descendants becomes our child from here on."""
    return _prctl(_PR_SET_CHILD_SUBREAPER)


def renounce_privileges() -> None:
    """What runs from here on gets no other user's rights: we could not kill it."""
    _prctl(_PR_SET_NO_NEW_PRIVS)


def descendants() -> list[int]:
    """Zombies included. On Linux without a look at every process there is: who forks quickly would be gone by then."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        return [process.pid for process in psutil.Process().children(recursive=True)]
    found = [os.getpid()]
    for pid in found:  # it grows meanwhile
        found += _children(pid)
    return found[1:]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it has just ended; its children are ours by now
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  (several times faster)
            with open(f"/proc/{pid}/task/{thread}/children") as children:  # noqa: PTH123
                found += map(int, children.read().split())
    return found


def kill_descendants(reap: Callable[[], bool], patience: float) -> list[int]:
    """Who is left after that time. `reap` buries the dead, and says whether any child is left: in the end all are
    children of ours."""
    deadline = time.monotonic() + patience
    while reap():
        found = descendants()
        if time.monotonic() >= deadline:
            return found
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PASS)
    return []
