"""Processes that are identified so that another one that gets the same pid later is not taken for them."""

import os
import signal
from contextlib import suppress
from typing import NamedTuple


class Process(NamedTuple):
    pid: int
    start_ticks: int | None  # the kernel's start time; None where it cannot be read


def find(pid: int) -> Process:
    return Process(pid, _read(pid)[1])


def lives(process: Process) -> bool:
    """Returns whether exactly this process exists and is no zombie."""
    state, ticks = _read(process.pid)
    if not state:  # no /proc here, or no such process
        return process.start_ticks is None and _exists(process.pid)
    return state not in "ZXx" and process.start_ticks in (None, ticks)


def kill(process: Process) -> bool:
    """Returns whether it was sent SIGKILL. Another process with the same pid is not."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or no such process
        if process.start_ticks is not None or not lives(process):
            return False
        with suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
            return True
        return False
    try:
        if not lives(process):  # what the descriptor names cannot change after this
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def count_threads(pid: int) -> int:
    """Returns at least 1: a zombie has a pid as well."""
    fields = _read_stat(pid)
    return max(int(fields[17]), 1) if fields else 1


def _read(pid: int) -> tuple[str, int | None]:
    fields = _read_stat(pid)
    return (fields[0], int(fields[19])) if fields else ("", None)


def _read_stat(pid: int) -> list[str]:
    """Returns the fields after the name; none if there is no such process, or no /proc."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
