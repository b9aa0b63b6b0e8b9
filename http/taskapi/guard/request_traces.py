"""Opens a span for each request, below that of the client if it has sent its `traceparent`."""

from collections.abc import Awaitable

from starlette.types import Message, Receive, Scope, Send

from state.tracing import is_tracing, note_failure, open_span
from taskapi.api.operation import find_operation
from taskapi.guard.layer import Layer

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestTraces(Layer):
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self._trace if is_tracing() else self.app)(scope, receive, send)

    async def _trace(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"]
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"  # a client may send any word
        attributes = {"http.request.method": method}
        traceparent = sent[0] if len(sent) == 1 else None
        with open_span(method, "server", attributes, traceparent=traceparent) as span:

            def send_and_note(message: Message) -> Awaitable[None]:
                if message["type"] == "http.response.start" and span is not None:
                    operation = find_operation(scope)
                    if operation is not None:  # a path has ids in it; the route has not
                        span.update_name(f"{operation.method} {operation.path}")
                        span.set_attribute("http.route", operation.path)
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        note_failure(span, str(message["status"]))
                return send(message)

            await self.app(scope, receive, send_and_note)
