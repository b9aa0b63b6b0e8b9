"""Answers to failures: what the guards refuse, and what nobody has expected."""

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.logs import log
from taskapi.api.problems import to_problem


class FailureAnswers:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except ClientDisconnect:
            pass  # the client left in the middle of its request: there is nobody to answer
        except Exception as failure:
            problem = to_problem(failure)
            if problem.status >= 500:
                log.exception("request failed", method=scope["method"], path=scope["path"])
            if started:
                raise
            await problem.to_response()(scope, receive, send)
