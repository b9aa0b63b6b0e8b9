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
        """Leaves a text in the file, for `is_marked` and for people who look into it."""
        os.truncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)

    def try_exclusive(self) -> bool:
        """A shared lock that was held before is lost also when this fails: so is the kernel's conversion."""
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
        """The lock goes with the descriptor, unless a program has inherited it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path) -> int:
    """Only its owner can open it: anybody who can open a file can also lock it."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    owner = path.parent.stat()
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        descriptor = os.open(path, flags)
    else:
        if os.geteuid() == 0:  # else the owner of the folder could not use its own database any more
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    found = os.fstat(descriptor)
    if found.st_nlink > 1:  # root must not write to what the owner of the folder has put there
        os.close(descriptor)
        raise PermissionError(f"{path} has another name as well")
    if found.st_mode & 0o077 and owner.st_uid == os.geteuid():  # made by a release before this one
        os.fchmod(descriptor, 0o600)
    return descriptor


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """False when it has not come true in time."""
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
