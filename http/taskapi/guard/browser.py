"""The browser as an attacker: a page of another site must not reach this server with the help of its visitor."""

from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from state.settings import get_settings
from taskapi.api.problems import Problem
from taskapi.guard.layer import Layer

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_NAMED_BY_BROWSERS = {b"origin", b"sec-fetch-site"}
_OWN_SITES = {"same-origin", "none"}  # none: the visitor's own doing, such as an address typed in


class BrowserGuard(Layer):
    """Refuses requests that a browser has sent for a page of another origin, whatever the method. Origins that
    CALLBOARD_CORS_ORIGINS names may do what our own pages may."""

    def __init__(self, app: ASGIApp, pages: frozenset[str]) -> None:
        """`pages`: paths that answer HTML, to which a link from anywhere may lead."""
        super().__init__(app)
        self._pages = pages
        self._allowed = frozenset(get_settings().cors_origins)

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        # Others than browsers name neither: browsers name the origin in each request that can change something.
        if any(name in _NAMED_BY_BROWSERS for name, _ in scope["headers"]) and self._is_foreign(scope):
            raise Problem("foreign-origin", "A web page of another origin has sent this request.")
        return self.app(scope, receive, send)

    def _is_foreign(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        if len(origins) > 1 or len(sites) > 1:
            return True
        if origins and origins[0] in self._allowed:
            return False
        if sites and sites[0] not in _OWN_SITES:
            return not self._opens_a_page(scope, headers)
        if origins:
            return origins[0] != f"{scope['scheme']}://{headers.get('host', '')}"
        return scope["method"] not in _SAFE_METHODS  # a browser that hides its origin

    def _opens_a_page(self, scope: Scope, headers: Headers) -> bool:
        """Whether a link has been followed: the page replaces the one that had the link, which cannot read it."""
        return (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
            and scope["path"] in self._pages
        )
