"""The last use of each key. Uses are written in batches: a request must not cost a write."""

import asyncio
import time

from starlette.concurrency import run_in_threadpool

from state.access.keys import record_key_uses
from state.database.errors import DatabaseError
from state.errors import NotReady
from state.logs import log

INTERVAL = 30.0  # seconds


class KeyUses:
    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._used_at: dict[str, float] = {}  # by key id, on the monotonic clock; not yet written
        self._used = asyncio.Event()
        self._writer = asyncio.get_running_loop().create_task(self._write())

    def note(self, key_id: str) -> None:
        self._used_at[key_id] = time.monotonic()
        self._used.set()

    async def stop(self) -> None:
        """Writes what is left."""
        self._writer.cancel()
        await asyncio.wait([self._writer])
        await self._flush()

    async def _write(self) -> None:
        while True:
            await self._used.wait()  # an idle server writes nothing
            await asyncio.sleep(self._interval)
            await self._flush()

    async def _flush(self) -> None:
        uses, self._used_at = self._used_at, {}
        self._used.clear()
        if not uses:
            return
        now = time.monotonic()
        try:
            await run_in_threadpool(record_key_uses, {key_id: now - used_at for key_id, used_at in uses.items()})
        except (DatabaseError, NotReady) as failure:  # tried again with the next batch
            log.warning("uses of keys not written", keys=len(uses), error=str(failure).strip())
            self._used_at = uses | self._used_at
            self._used.set()
