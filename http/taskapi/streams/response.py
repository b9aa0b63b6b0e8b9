"""The answer that is a stream."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from taskapi.access.authorization import get_access, get_caller
from taskapi.streams.channel import Channel, open_channel
from taskapi.streams.channels import Channels
from taskapi.streams.feed import Pace
from taskapi.streams.sse import HEADERS, MEDIA_TYPE


class StreamResponse(Response):
    """Sends what `write` puts into the channel, until it ends, the client disconnects or its key is revoked, or the
    client has not read for too long. A client that was dropped may reconnect with the id of its last event."""

    def __init__(self, request: Request, pace: Pace, write: Callable[[Channel], Awaitable[None]]) -> None:
        super().__init__(headers=HEADERS, media_type=MEDIA_TYPE)
        del self.headers["content-length"]  # nobody knows it
        self._request = request
        self._pace = pace
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        channels: Channels = self._request.app.state.channels
        with anyio.CancelScope() as life:
            with get_access(self._request).streams.follow(get_caller(self._request)):  # ends when the key is revoked
                with anyio.CancelScope(shield=True):
                    await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                channel = open_channel(scope, send, self._pace.capacity, life.cancel)
                leaving = asyncio.get_running_loop().create_task(_wait_for_disconnect(receive, life))
                try:
                    with channels.keep(channel, scope["path"]):
                        await self._write(channel)
                        await channel.drain()
                finally:
                    leaving.cancel()
            with anyio.move_on_after(self._pace.patience):
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive, life: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    life.cancel()
