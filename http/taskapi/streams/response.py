"""The answer that is a stream."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from taskapi.access.authorization import get_access, get_caller
from taskapi.streams.channel import Channel, open_channel
from taskapi.streams.channels import Channels
from taskapi.streams.feed import Pace
from taskapi.streams.sse import HEADERS, MEDIA_TYPE


class AnswerCut(ClientDisconnect):
    """The answer is not terminated, so that the client sees that it has not got all of it."""


class StreamResponse(Response):
    """Sends what `write` puts into the channel, until it ends, the client disconnects or its key is revoked, or the
    client has not read for too long. A client that was dropped may reconnect with the id of its last event. Other media
    types than server-sent events say nothing of their end: what is not complete is cut."""

    def __init__(
        self,
        request: Request,
        pace: Pace,
        write: Callable[[Channel], Awaitable[None]],
        *,
        media_type: str = MEDIA_TYPE,
    ) -> None:
        super().__init__(headers=HEADERS, media_type=media_type)
        del self.headers["content-length"]  # nobody knows it
        self._request = request
        self._pace = pace
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        channels: Channels = self._request.app.state.channels
        has_frames, complete = self.media_type == MEDIA_TYPE, False
        with anyio.CancelScope() as life:
            with get_access(self._request).streams.follow(get_caller(self._request)):  # ends when the key is revoked
                with anyio.CancelScope(shield=True):
                    await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                channel = open_channel(scope, send, self._pace.capacity, life.cancel)
                leaving = asyncio.get_running_loop().create_task(_wait_for_disconnect(receive, life))
                try:
                    with channels.keep(channel, scope["path"], comments=has_frames):
                        await self._write(channel)
                        await channel.drain()
                    complete = True
                finally:
                    leaving.cancel()
            if not complete and not has_frames:
                raise AnswerCut
            with anyio.move_on_after(self._pace.patience):
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive, life: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    life.cancel()
