"""For the worst case: the keeper itself is gone, killed by what it kept or by somebody in need of memory."""

import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

_PASS = 0.02


def kill_strays(workspace: str, patience: float) -> tuple[int, list[int]]:
    """How many were killed, and who is left. A box's processes are known by their home."""
    killed: set[int] = set()
    deadline = time.monotonic() + patience
    while left := list(_at_home(workspace)):
        if time.monotonic() >= deadline:
            break
        for process in left:
            with suppress(psutil.Error):
                process.kill()
                killed.add(process.pid)
        time.sleep(_PASS)
    survivors = [process.pid for process in left]
    return len(killed.difference(survivors)), survivors


def _at_home(workspace: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == workspace and process.status() != psutil.STATUS_ZOMBIE:
                yield process
