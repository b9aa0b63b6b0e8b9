"""Removes bytes from the content store that no content names: their task has died between storing them and saying so.

Whoever stores bytes says so first, in `stored_bytes`. What was said two days ago and has not become a content since is
removed, while its row is locked: storing the same bytes again waits for that, and then stores them."""

import threading
import time

from state.database import fetch, fetch_one, retrying, transaction
from state.errors import ContentStoreFailed
from state.logs import log
from state.media.stores import get_store

AGE = 2 * 86400.0  # seconds; longer than any execution
SECONDS = 600.0  # between two turns
_MOST = 100  # in a turn


class Collection:
    """One maintainer's turns, each in a thread of its own: a bucket may be slow. Two at once do no harm."""

    def __init__(self) -> None:
        self._next = time.monotonic() + SECONDS
        self._thread: threading.Thread | None = None

    def is_due(self) -> bool:
        return time.monotonic() >= self._next and (self._thread is None or not self._thread.is_alive())

    def start(self) -> None:
        self._next = time.monotonic() + SECONDS
        self._thread = threading.Thread(target=self._run, name="contents", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if removed := collect():
                log.info("bytes without a content were removed", count=removed)
        except ContentStoreFailed as failed:
            log.warning("bytes without a content cannot be removed", error=str(failed))
        except Exception:
            log.exception("maintenance: bytes without a content")


def collect(most: int = _MOST) -> int:
    """Removes bytes, each in a transaction of its own. Returns how many."""
    _forget_used(most)
    count = 0
    while count < most and _remove_one():
        count += 1
    return count


@retrying
def _forget_used(most: int) -> None:
    fetch("bytes_forget_used", {"age": AGE, "limit": most})


@retrying
def _remove_one() -> bool:
    with transaction() as conn:
        found = fetch_one("bytes_take_unused", {"age": AGE}, conn)
        if found is None:
            return False
        # Asked again now that the row is locked.
        used = fetch_one("bytes_are_used", found, conn)
        if used is None or not used["used"]:
            get_store().remove(found["sha256"])
        fetch("bytes_forget", found, conn)
        return True
