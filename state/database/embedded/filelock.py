"""Locks on files that the kernel drops with the last process that holds them."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from weakref import WeakSet

_opened: "WeakSet[FileLock]" = WeakSet()
_POLL = 0.02


class FileLock:
    """A flock. It belongs to the opened file, so a program that inherits the descriptor holds the same lock; a forked
    child of ours does not."""

    def __init__(self, path: Path) -> None:
        self._descriptor = _open(path)
        _opened.add(self)

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        return self._descriptor

    @property
    def closed(self) -> bool:
        return self._descriptor < 0

    @property
    def is_marked(self) -> bool:
        return os.fstat(self._descriptor).st_size > 0

    def mark(self, text: str) -> None:
        """Writes a text into the file, for `is_marked` and for people who look into it."""
        os.truncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)

    def try_exclusive(self) -> bool:
        """Also loses a shared lock if it fails: that is how the kernel converts locks."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Closes the descriptor, and with it the lock, unless a program has inherited it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path) -> int:
    """Opens the file so that only its owner can: every process that can open a file can also lock it."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    owner = path.parent.stat()
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        descriptor = os.open(path, flags)
    else:
        if os.geteuid() == 0:  # otherwise the owner of the folder could not use the database any more
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    found = os.fstat(descriptor)
    if found.st_nlink > 1:  # root must not write to a file that the owner of the folder has linked there
        os.close(descriptor)
        raise PermissionError(f"{path} has more than one name")
    if found.st_mode & 0o077 and owner.st_uid == os.geteuid():  # made by an earlier release
        os.fchmod(descriptor, 0o600)
    return descriptor


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Returns False if the condition has not become true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL)
    return True


def _close_in_child() -> None:
    """A forked child would hold its parent's locks after the parent's death."""
    for lock in list(_opened):
        lock.close()


os.register_at_fork(after_in_child=_close_in_child)
