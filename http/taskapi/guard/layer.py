"""A layer around the application, which all requests pass. The startup and shutdown of the server pass it unseen."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send


class Layer(ABC):
    """There are many of them, and each request passes them all. So they are plain functions where they can be: a
    coroutine for each of them would take longer than most requests need."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serves a request, as a rule by calling `self.app`."""
