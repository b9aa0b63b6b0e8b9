"""Access control: everything that a server process keeps about its callers."""

import asyncio
from contextlib import suppress

from starlette.requests import Request

from state.access.caller import Caller
from state.access.keys import ValidKey
from state.database.errors import DatabaseError
from state.errors import NotReady
from state.settings import get_settings
from taskapi.access.credentials import find_key, has_credentials, refuse
from taskapi.access.keyring import Keyring, Snapshot
from taskapi.access.open_streams import OpenStreams
from taskapi.access.rates import RateLimits
from taskapi.access.uses import KeyUses
from taskapi.guard.network import find_stranger


class AccessControl:
    """With a `caller`, all requests are of this caller, and no key is asked for."""

    def __init__(self, caller: Caller | None) -> None:
        self._caller = caller
        self._serves_strangers = caller is not None
        self.keyring = Keyring(self._apply)
        self.streams = OpenStreams()
        self._rates = RateLimits()
        self._uses = KeyUses()
        self._checks: asyncio.Task[None] | None = None
        if caller is None:
            self._checks = asyncio.get_running_loop().create_task(self.streams.keep_checked(self.keyring))

    async def identify(self, request: Request, *, by_token: bool) -> Caller:
        """Returns who sends the request. Raises a 401 for a wrong key or none, a 429 for a key that asks too often."""
        if self._caller is not None:
            return self._caller
        snapshot = await self.keyring.get_snapshot()
        if not snapshot.configured and not has_credentials(request, by_token=by_token):
            return _identify_local(request)
        key = find_key(request, snapshot, by_token=by_token)
        if key is None:
            key = find_key(request, await self.keyring.get_newest(), by_token=by_token)
        if key is None:
            raise refuse("This API key or token is not valid. It may have been revoked, or a token has expired.")
        return self._admit(key)

    async def serves_strangers(self) -> bool:
        """Whether others than programs of this machine may reach the server: if there is any key, also a revoked one,
        as nobody is served without a key then; or if the server works for one caller. Rows of keys are never deleted,
        so this is asked until it is true: probes of other machines are answered while the database is down."""
        if not self._serves_strangers:
            self._serves_strangers = (await self.keyring.get_snapshot()).configured
        return self._serves_strangers

    async def find_own_key(self, caller: Caller) -> ValidKey | None:
        return None if caller.key_id is None else (await self.keyring.get_snapshot()).get(caller.key_id)

    async def apply_changes(self) -> None:
        """Reads the keys, which this process has changed, at once. Other processes notice within seconds."""
        self.keyring.expire()
        if self._caller is None:
            with suppress(DatabaseError, NotReady):  # then the next request reads them: the change has been made
                await self.keyring.get_snapshot()

    async def stop(self) -> None:
        if self._checks is not None:
            self._checks.cancel()
            await asyncio.wait([self._checks])
        await self.keyring.stop()
        await self._uses.stop()

    def _admit(self, key: ValidKey) -> Caller:
        key_id = key.caller.key_id
        assert key_id is not None  # noqa: S101
        self._rates.take(key_id, key)
        self._uses.note(key_id)
        return key.caller

    def _apply(self, snapshot: Snapshot) -> None:
        self.streams.end_refused(snapshot)
        self._rates.forget_others(snapshot.keys.by_id)


def _identify_local(request: Request) -> Caller:
    """While no key exists, programs of this machine may do everything, except that commands must be allowed."""
    if (stranger := find_stranger(request.scope)) is not None:
        raise stranger
    return Caller("operator", commands=get_settings().commands)
