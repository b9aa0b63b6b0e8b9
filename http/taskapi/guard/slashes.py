"""A trailing slash means nothing. It is removed here: in a redirect a POST would lose its body."""

from collections.abc import Awaitable

from starlette.types import Receive, Scope, Send

from taskapi.guard.layer import Layer


class TrailingSlashes(Layer):
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        return self.app(scope, receive, send)
