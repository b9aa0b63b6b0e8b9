"""Bodies that arrive too slowly are given up: a byte now and then would keep a request waiting forever."""

import asyncio
import time
from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taskapi.api.problems import Problem
from taskapi.guard.layer import Layer
from taskapi.guard.wire import find_wire


class BodyDeadline(Layer):
    """A body has `grace` seconds, and a second more for each `rate` bytes that have arrived."""

    def __init__(self, app: ASGIApp, grace: float = 10.0, rate: float = 16 * 1024) -> None:
        super().__init__(app)
        self._grace = grace
        self._rate = rate

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        wire = find_wire(scope)
        if wire is not None and wire.has_whole_body():  # mostly so: bodies are small, and come with the headers
            return self.app(scope, receive, send)
        return self._handle_slow(scope, receive, send)

    def _handle_slow(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        deadline: float | None = None
        whole = False  # after the body, or once the answer has begun, `receive` waits for the client to leave

        async def receive_in_time() -> Message:
            nonlocal deadline, whole
            if whole:
                return await receive()
            if deadline is None:
                deadline = time.monotonic() + self._grace
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:  # the rest of the body would be taken for the next request
                raise Problem("request-timeout", "Send the body faster.", headers={"Connection": "close"}) from None
            deadline += len(message.get("body", b"")) / self._rate
            whole = not message.get("more_body", False)
            return message

        def note_answer(message: Message) -> Awaitable[None]:
            nonlocal whole
            whole = True
            return send(message)

        return self.app(scope, receive_in_time, note_answer)
