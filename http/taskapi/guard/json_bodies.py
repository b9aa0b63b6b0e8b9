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
            headers = Headers(scope=scope)
            types = headers.getlist("content-type")
            if any(not _is_json(each) for each in types) or (not types and _has_body(headers)):
                detail = "Send the body with Content-Type: application/json (curl: --json, or -H and -d)."
                raise Problem("unsupported-media-type", detail, headers={"Accept": "application/json"})
        return self.app(scope, receive, send)


def _is_json(media_type: str) -> bool:
    return media_type.partition(";")[0].strip().lower() == "application/json"


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
