"""Headers of every answer, errors included: what browsers may not do with it."""

from collections.abc import Awaitable

from starlette.types import Message, Receive, Scope, Send

from taskapi.guard.layer import Layer

_NO_FRAMES = b"frame-ancestors 'none'"
_POLICY = b"content-security-policy"
_NO_CONTENTS = b"default-src 'none'; base-uri 'none'; form-action 'none'; " + _NO_FRAMES
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),  # no page of another origin shows it as an image or a script
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),  # addresses carry ids, and stream tokens
)


class SecurityHeaders(Layer):
    """An answer that names a header itself keeps it. Its Content-Security-Policy also gets `frame-ancestors`."""

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        def send_with_headers(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message["headers"] = complete(list(message.get("headers", ())))
            return send(message)

        return self.app(scope, receive, send_with_headers)


def complete(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    named = {name.lower() for name, _ in headers}
    headers += [header for header in _HEADERS if header[0] not in named]
    if _POLICY not in named:
        headers.append((_POLICY, _NO_CONTENTS))
    elif not any(name.lower() == _POLICY and b"frame-ancestors" in value for name, value in headers):
        headers.append((_POLICY, _NO_FRAMES))  # a browser obeys all policies of an answer
    return headers
