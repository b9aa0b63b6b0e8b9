"""Files without a name that processes have open: on disk after they were removed, or in memory only (memfd)."""

import os
from contextlib import suppress
from functools import cache


def measure_unlinked(pids: list[int]) -> dict[int, int]:
    """Returns the bytes of the open files that have no name, by device."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                with suppress(OSError):
                    found = os.stat(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH116
                    if found.st_nlink == 0:
                        seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    used: dict[int, int] = {}
    for (device, _), size in seen.items():
        used[device] = used.get(device, 0) + size
    return used


@cache
def find_memory_device() -> int:
    """Returns the device of files that are in memory only, 0 where there are none."""
    with suppress(AttributeError, OSError):
        file = os.memfd_create("callboard")
        try:
            return os.fstat(file).st_dev
        finally:
            os.close(file)
    return 0
