"""The disk space that a folder uses."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from providers.sandbox.removal import open_folder

_SMALLEST = 1024  # bytes that a file counts at least: a million empty files fill a disk as well


def measure(folder: str, enough: int) -> int:
    """Returns the bytes of all files below the folder. Stops counting above `enough`. A folder so deep that no path
    can name it counts as too much, because what is in it is not known."""
    used = 0
    folders = [""]  # relative to the folder
    for current in folders:  # the list grows during the loop
        path = os.path.join(folder, current)  # noqa: PTH118
        try:
            try:
                size, below = _measure_one(path, enough - used)
            except PermissionError:
                _open_to_us(folder, current)
                size, below = _measure_one(path, enough - used)
        except OSError as failure:
            if failure.errno == errno.ENAMETOOLONG:
                return enough + 1
            continue
        used += size
        if used > enough:
            return used
        folders += [os.path.join(current, name) for name in below]  # noqa: PTH118
    return used


def _measure_one(path: str, enough: int) -> tuple[int, list[str]]:
    """Returns the bytes of what is directly in a folder, and the names of the folders in it."""
    used = 0
    below: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # gone meanwhile
                used += max(entry.stat(follow_symlinks=False).st_blocks * 512, _SMALLEST)
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
            if used > enough:
                break
    return used, below


def _open_to_us(folder: str, below: str) -> None:
    """A command may forbid us to read a folder into which it still writes. Each part of the path is opened below the
    one before: a link would let the command change the mode of other folders."""
    current = open_folder(folder)
    try:
        for name in Path(below).parts:
            following = open_folder(name, current)
            os.close(current)
            current = following
        os.fchmod(current, 0o700)
    finally:
        os.close(current)
