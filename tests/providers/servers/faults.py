"""Faults that a test server shows on demand."""

import asyncio
import re
from collections import defaultdict, deque

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

_IN_PROMPT = re.compile(r"fault:(\w+)")


class Faults:
    """`add("poll", 503)` makes the next poll fail; a prompt with `fault:503` fails at submit. The answer to a request
    that is `slow` waits for `let_go`."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[int | str]] = defaultdict(deque)
        self.retry_after = "7"
        self.slow = 0  # requests that wait now
        self._let_go = False

    def add(self, stage: str, *kinds: int | str) -> None:
        self._waiting[stage].extend(kinds)

    def let_go(self) -> None:
        self._let_go = True

    def take(self, stage: str) -> int | str | None:
        waiting = self._waiting[stage]
        return waiting.popleft() if waiting else None

    async def answer(self, request: Request, stage: str, prompt: str = "") -> Response | None:
        """The faulty answer to this request, if it is to have one."""
        asked = _IN_PROMPT.search(prompt)
        kind = self.take(stage) or (asked.group(1) if asked else None)
        if kind is None:
            return None
        if kind == "slow":
            await self._hold()
            return None
        if str(kind).isdigit():
            headers = {"Retry-After": self.retry_after} if int(kind) in (429, 503) else {}
            return JSONResponse({"error": f"a fault: {kind}"}, int(kind), headers)
        if kind == "hang":
            await until_disconnected(request)
        if kind == "cut":
            return CutResponse()
        return Response('{"broken": ', media_type="application/json")

    async def _hold(self) -> None:
        self.slow += 1
        while not self._let_go:  # noqa: ASYNC110  (set by another thread)
            await asyncio.sleep(0.02)
        self.slow -= 1


class CutResponse(Response):
    """Promises more than it sends, then the connection ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"half": ', "more_body": True})


async def until_disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
