"""X-Request-ID: the name of one request, in its answer, in its problem document, and in every log line about it."""

import re
from collections.abc import Awaitable
from contextlib import suppress

import structlog
import uuid_utils
from starlette.types import Message, Receive, Scope, Send

from taskapi.guard.layer import Layer

_HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._:=@-]{1,128}")  # nothing that could break out of a log line or a header


class RequestIds(Layer):
    """Takes the id that the client has sent, so that its log and ours name the request alike, or makes one."""

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        request_id = _find(scope) or f"rq_{uuid_utils.uuid7().hex}"
        # asyncio may start a request in the context of the one before it on the same connection.
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)

        def send_with_id(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (_HEADER, request_id.encode())]
            return send(message)

        return self.app(scope, receive, send_with_id)


def get_request_id() -> str | None:
    """Returns the id of the request that is being served here."""
    with suppress(LookupError):
        request_id: str = structlog.contextvars.get_contextvars()["request_id"]
        return request_id
    return None


def _find(scope: Scope) -> str | None:
    sent = [value for name, value in scope["headers"] if name == _HEADER]
    return sent[0].decode() if len(sent) == 1 and _SANE.fullmatch(sent[0]) else None
