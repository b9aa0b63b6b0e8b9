"""Removes the folders that commands have left. They may be nested deeper than Python's stack, or than a path can be
long, so each folder is moved to the top before it is emptied."""

import os
from contextlib import suppress
from uuid import uuid4

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Removes all that can be removed. Nothing is followed out of the folder."""
    with suppress(OSError):
        top = open_folder(path)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(path)  # noqa: PTH106


def open_folder(name: str, parent: int | None = None) -> int:
    """Opens a folder, not a link to one. If its mode forbids that to us, who own it, the mode is changed."""
    try:
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    except PermissionError:
        found = os.open(name, getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{found}", 0o700)  # noqa: PTH101
        finally:
            os.close(found)
        return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)


def _empty(top: int) -> None:
    names = _remove_files(top)
    for name in names:  # the list grows during the loop
        with suppress(OSError):
            folder = open_folder(name, top)
            try:
                names += _move_folders(_remove_files(folder), folder, top)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """Returns the names of the folders in this one, which are left."""
    os.fchmod(folder, 0o700)  # some programs protect their folders
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]


def _move_folders(names: list[str], folder: int, top: int) -> list[str]:
    """Returns the new names. Moving a folder needs the right to change it."""
    moved: list[str] = []
    for name in names:
        with suppress(OSError):
            below = open_folder(name, folder)
            try:
                os.fchmod(below, 0o700)
            finally:
                os.close(below)
            new = uuid4().hex
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
            moved.append(new)
    return moved
