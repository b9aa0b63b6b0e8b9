"""The open streams of this process, by the caller that follows them. They end when their key is revoked."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from state.access.caller import Caller
from state.database.errors import DatabaseError
from state.errors import NotReady
from state.logs import log
from state.settings import get_settings
from taskapi.access.keyring import MAX_AGE, Keyring, Snapshot
from taskapi.api.problems import Problem

_AFTER_ERROR = 1.0


class OpenStreams:
    def __init__(self) -> None:
        self._scopes: dict[str | None, set[anyio.CancelScope]] = {}  # by key id
        self._followed = asyncio.Event()

    def count(self) -> int:
        return sum(map(len, self._scopes.values()))

    @contextmanager
    def follow(self, caller: Caller) -> Iterator[None]:
        """The life of one stream. The code inside is canceled when the key is revoked, and goes on after the block.
        Raises a 429 if the key has too many streams."""
        scopes = self._scopes.setdefault(caller.key_id, set())
        limit = get_settings().streams_per_key
        if caller.key_id is not None and len(scopes) >= limit:
            detail = f"A key may have {limit} open streams at each server process. Close one first."
            raise Problem("too-many-requests", detail, headers={"Retry-After": "5"})
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            self._followed.set()
            try:
                yield
            finally:
                scopes.discard(scope)
                if not scopes:
                    self._scopes.pop(caller.key_id, None)
                if not self._scopes:
                    self._followed.clear()

    def end_refused(self, snapshot: Snapshot) -> None:
        """Ends the streams whose keys are not valid, and those without a key if there are keys now."""
        for key_id, scopes in self._scopes.items():
            if snapshot.get(key_id) is None and (key_id is not None or snapshot.configured):
                log.info("streams end: their key is not valid", key_id=key_id, streams=len(scopes))
                for scope in scopes:
                    scope.cancel()

    async def keep_checked(self, keyring: Keyring) -> None:
        """Has the keys read again and again while there are streams; each read ends the streams that it refuses. While
        the keys cannot be read the streams stay open: they have nothing to send without the database."""
        while True:
            await self._followed.wait()
            try:
                snapshot = await keyring.get_snapshot()
            except Exception as failure:  # no failure may end the checks: streams of revoked keys would go on
                expected = isinstance(failure, (DatabaseError, NotReady))
                log.warning("keys of open streams not checked", error=str(failure).strip(), exc_info=not expected)
                await asyncio.sleep(_AFTER_ERROR)
            else:
                await asyncio.sleep(max(MAX_AGE - snapshot.age, 0.0))
