"""The disk space that a folder uses."""

import os
from contextlib import suppress

_SMALLEST = 1024  # bytes that a file counts at least: a million empty files fill a disk as well


def measure(folder: str, enough: int) -> int:
    """Returns the bytes of all files below the folder. Stops counting above `enough`."""
    used = 0
    folders = [folder]
    for current in folders:  # the list grows during the loop
        with suppress(OSError), os.scandir(current) as entries:
            for entry in entries:
                with suppress(OSError):
                    used += max(entry.stat(follow_symlinks=False).st_blocks * 512, _SMALLEST)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                if used > enough:
                    return used
    return used


def measure_unlinked(pids: list[int], device: int) -> int:
    """Returns the bytes of files on the device that are open in these processes and have no name any more."""
    seen: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                with suppress(OSError):
                    found = os.stat(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH116
                    if found.st_nlink == 0 and found.st_dev == device:
                        seen[found.st_ino] = found.st_blocks * 512
    return sum(seen.values())
