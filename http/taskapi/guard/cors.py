"""CORS (cross-origin resource sharing) for the origins that CALLBOARD_CORS_ORIGINS names, and for no others."""

from collections.abc import Awaitable

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from state.settings import get_settings
from taskapi.guard.layer import Layer


class ConfiguredOrigins(Layer):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._allowed = {origin.encode() for origin in get_settings().cors_origins}
        self._sharing = CORSMiddleware(
            app,
            allow_origins=get_settings().cors_origins,
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID"),
            expose_headers=("X-Request-ID", "Retry-After", "Location"),
        )

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        allowed = self._allowed and any(
            name == b"origin" and value in self._allowed for name, value in scope["headers"]
        )
        return (self._sharing if allowed else self.app)(scope, receive, send)
