"""The keys that a server process knows: read from the database when a request needs them, and used for seconds."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import anyio
import anyio.to_thread

from state.access.keys import ValidKey, ValidKeys, read_keys
from state.database.errors import DatabaseError
from state.schema.version import require_current_schema

MAX_AGE = 4.0  # seconds; a read may take one more until a revoked key is refused everywhere

_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Snapshot:
    keys: ValidKeys
    read_at: float  # on the monotonic clock: when the read began

    @property
    def age(self) -> float:
        return monotonic() - self.read_at

    @property
    def configured(self) -> bool:
        return self.keys.configured

    def get(self, key_id: str | None) -> ValidKey | None:
        return None if key_id is None else self.keys.by_id.get(key_id)


class Keyring:
    """An idle server reads nothing. If the keys cannot be read, nobody is let in: there is no older state to fall back
    to."""

    def __init__(self, on_read: Callable[[Snapshot], None]) -> None:
        self._on_read = on_read
        self._snapshot: Snapshot | None = None
        self._read: asyncio.Task[Snapshot] | None = None
        self._valid_from = 0.0  # snapshots from before this moment are not used
        self._limiter = anyio.CapacityLimiter(1)  # a thread of its own: slow requests must not delay the others

    async def get_snapshot(self, max_age: float = MAX_AGE) -> Snapshot:
        """Returns the keys as they were at most `max_age` seconds ago. All requests that wait share one read."""
        oldest = max(monotonic() - max_age, self._valid_from)
        while self._snapshot is None or self._snapshot.read_at < oldest:
            # A read that is done, and not forgotten yet, must not be waited for: that would not leave this loop.
            if self._read is None or self._read.done():
                self._read = asyncio.get_running_loop().create_task(self._read_keys())
                self._read.add_done_callback(self._forget_read)
            await asyncio.shield(self._read)
        return self._snapshot

    async def get_newest(self) -> Snapshot:
        """Returns the keys as they are now: a key that is not known may be new. Whoever guesses keys must not make the
        server read them all the time, so there is a pause after each read."""
        arrived = monotonic()
        if self._snapshot is not None:
            await asyncio.sleep(max(_PAUSE - self._snapshot.age, 0.0))
        return await self.get_snapshot(monotonic() - arrived)

    def expire(self) -> None:
        """Makes the next request read the keys: this process has changed them."""
        self._valid_from = monotonic()

    async def stop(self) -> None:
        if self._read is not None:
            await asyncio.wait([self._read])

    async def _read_keys(self) -> Snapshot:
        began = monotonic()
        try:
            keys = await anyio.to_thread.run_sync(read_keys, limiter=self._limiter)
        except DatabaseError:
            await anyio.to_thread.run_sync(require_current_schema, limiter=self._limiter)  # says what to do
            raise
        self._snapshot = snapshot = Snapshot(keys, began)
        self._on_read(snapshot)
        return snapshot

    def _forget_read(self, read: "asyncio.Task[Snapshot]") -> None:
        if self._read is read:
            self._read = None
        if not read.cancelled():
            read.exception()  # those who wait have got it; there may be none
