"""One line in the log for each answer, in place of uvicorn's, which takes longer than most requests do."""

import logging
import time
from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.logs import log_answer
from taskapi.guard.layer import Layer


class RequestLog(Layer):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        logging.getLogger("uvicorn.access").disabled = True

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        began = time.perf_counter()

        def send_and_log(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                query = scope["query_string"].decode("latin-1")
                path = f"{scope['path']}?{query}" if query else scope["path"]
                client = scope.get("client") or ("",)  # a Unix socket's other end has no name
                log_answer(client[0], scope["method"], path, message["status"], time.perf_counter() - began)
            return send(message)

        return self.app(scope, receive, send_and_log)
