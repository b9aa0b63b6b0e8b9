"""Answers to failures: what the guards refuse, and what nobody has expected."""

from collections.abc import Awaitable

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from state.logs import log
from taskapi.api.problems import to_problem
from taskapi.guard.layer import Layer


class FailureAnswers(Layer):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        def send_and_note(message: Message) -> Awaitable[None]:
            nonlocal started
            started = True
            return send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            pass  # the client left in the middle of its request: there is nobody to answer
        except Exception as failure:
            problem = to_problem(failure)
            if problem.status >= 500:
                log.exception("request failed", method=scope["method"], path=scope["path"])
            if started:
                raise
            await problem.to_response()(scope, receive, send)
