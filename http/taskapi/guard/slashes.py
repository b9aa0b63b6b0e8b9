"""A trailing slash means nothing. It is removed here: in a redirect a POST would lose its body."""

from starlette.types import Receive, Scope, Send

from taskapi.guard.layer import Layer


class TrailingSlashes(Layer):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self.app(scope, receive, send)
