"""Ends a process with all that descends from it."""

import contextlib
import os
import signal

import psutil


def stop_tree(leader: int, sig: signal.Signals, grace: float) -> None:
    """Ask the leader of a session, wait, then kill whatever is left, each by its id."""
    tree = _tree(leader)
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, sig)
    _, alive = psutil.wait_procs(tree, timeout=grace)
    _kill({*alive, *_session(leader)})


def kill_session(leader: int) -> None:
    """Kill what a leader that ended by itself left behind."""
    _kill(_session(leader))


def _kill(processes: set[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _tree(leader: int) -> set[psutil.Process]:
    """By descent too: the children of a Postgres have sessions of their own."""
    found = _session(leader)
    with contextlib.suppress(psutil.NoSuchProcess):
        found.update(psutil.Process(leader).children(recursive=True))
    return found


def _session(leader: int) -> set[psutil.Process]:
    """A worker whose master died has another parent, but still its session."""
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader:
                found.add(process)
    return found
