"""Kills the processes of a sandbox whose supervisor was lost: killed by the command, or for lack of memory."""

import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

_ROUND = 0.02  # seconds between two rounds of killing


def kill_leftovers(workspace: str, seconds: float) -> tuple[int, list[int]]:
    """Returns the number of killed processes and the pids of survivors."""
    killed: set[int] = set()
    deadline = time.monotonic() + seconds
    while left := list(_find_processes(workspace)):
        if time.monotonic() >= deadline:
            break
        for process in left:
            with suppress(psutil.Error):
                process.kill()
                killed.add(process.pid)
        time.sleep(_ROUND)
    survivors = [process.pid for process in left]
    return len(killed.difference(survivors)), survivors


def _find_processes(workspace: str) -> Iterator[psutil.Process]:
    """Yields the processes of a sandbox, which are recognized by their variable HOME."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("HOME") == workspace and process.status() != psutil.STATUS_ZOMBIE:
                yield process
