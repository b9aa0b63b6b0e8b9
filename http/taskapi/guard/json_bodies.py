"""Bodies are application/json: an HTML form cannot send that, and a script of another origin must ask first (CORS)."""

from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from taskapi.api.problems import Problem
from taskapi.guard.layer import Layer

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class JsonBodies(Layer):
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["method"] not in _SAFE_METHODS:
            types = [value for name, value in scope["headers"] if name == b"content-type"]
            if any(not _is_json(each) for each in types) or (not types and _has_body(Headers(scope=scope))):
                detail = "Send the body with Content-Type: application/json (curl: --json, or -H and -d)."
                raise Problem("unsupported-media-type", detail, headers={"Accept": "application/json"})
        return self.app(scope, receive, send)


def _is_json(media_type: bytes) -> bool:
    return media_type.partition(b";")[0].strip().lower() == b"application/json"


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
