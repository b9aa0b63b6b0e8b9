"""The descendants of a process, also those that have left its process group or its session. On Linux orphans among
them become children of their supervisor; elsewhere a process that has lost its parent and left its group cannot be
found."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_ROUND = 0.002  # seconds between two rounds of killing


def list_descendants(pid: int | None = None) -> list[int]:
    """Returns the pids of all descendants of a process, or of this one; zombies included. On Linux only descendants are
    read: a look at all processes takes so long that a process that forks quickly escapes."""
    pid = pid or os.getpid()
    if not Path(f"/proc/{pid}/task/{pid}/children").exists():
        import psutil  # few systems need it, and each supervisor would wait for it

        with suppress(psutil.Error):
            return [process.pid for process in psutil.Process(pid).children(recursive=True)]
        return []
    found = [pid]
    for each in found:  # the list grows during the loop
        found += _list_children(each)
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
    tried = False  # this process may have got no time of the processor for so long
    while reap():
        found = list_descendants()
        if tried and time.monotonic() >= deadline:
            return found
        tried = True
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_ROUND)
    return []
