"""A trailing slash means nothing. It is removed here: in a redirect a POST would lose its body."""

from starlette.types import ASGIApp, Receive, Scope, Send


class TrailingSlashes:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
