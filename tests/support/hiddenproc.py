"""For a worker process that may not look into /proc (hidepid, another user), but at itself: imported by it among its
actors."""

import os
from typing import Any

import psutil

from state.workers import processes

_read_stat = processes.read_stat
_create_time = psutil.Process.create_time


def _read_own(pid: int) -> processes.ProcessStat:
    if pid != os.getpid():
        raise FileNotFoundError(f"/proc/{pid}/stat")
    return _read_stat(pid)


def _own_create_time(self: psutil.Process, *arguments: Any, **options: Any) -> float:
    if self.pid != os.getpid():
        raise psutil.NoSuchProcess(self.pid)  # as psutil says there of any process
    return float(_create_time(self, *arguments, **options))


processes.read_stat = _read_own
psutil.Process.create_time = _own_create_time  # type: ignore[method-assign]
