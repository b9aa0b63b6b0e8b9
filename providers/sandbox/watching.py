"""Watches what the processes of a sandbox use together: the kernel's limits hold for one process, or for all processes
of a user. Where there are control groups, the kernel enforces memory and processes as well."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress

from providers.sandbox.cgroups import Group
from providers.sandbox.descendants import list_descendants
from providers.sandbox.disk import measure
from providers.sandbox.memory import measure_memory
from providers.sandbox.processes import count_threads
from providers.sandbox.unlinked import find_memory_device, measure_unlinked

EVERY = 0.25  # seconds between two looks
_SHARE = 10  # looking takes at most this part of the time: a folder may have many files


class Watch:
    """With `container`, only the disk: our descendants are the engine's client then, not the command."""

    def __init__(
        self, workspace: str, limits: Mapping[str, float], group: Group, *, own_processes: int, container: bool
    ) -> None:
        self._container = container
        self._workspace = workspace
        self._group = group
        self._memory = int(limits["memory"])
        self._disk = int(limits["disk"])
        self._processes = int(limits["processes"]) + own_processes
        self._device = 0
        with suppress(OSError):
            self._device = os.stat(workspace).st_dev  # noqa: PTH116
        self.next_look = 0.0

    def find_exceeded(self) -> str:
        """Returns the limit that is exceeded, or ""."""
        begun = time.monotonic()
        found = self._look()
        ended = time.monotonic()
        self.next_look = ended + max(EVERY, (ended - begun) * _SHARE)
        return found

    def _look(self) -> str:
        pids = [] if self._container else list_descendants()
        if sum(map(count_threads, pids)) > self._processes:
            return "processes"
        unlinked = measure_unlinked(pids)
        if measure_memory(pids, self._memory, unlinked.get(find_memory_device(), 0)) > self._memory:
            return "memory"
        if exceeded := self._group.find_exceeded():
            return exceeded
        used = measure(self._workspace, self._disk) + unlinked.get(self._device, 0)
        return "disk" if used > self._disk else ""
