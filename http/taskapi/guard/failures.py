"""Answers to failures: what the guards refuse, and what nobody has expected."""

import asyncio
from collections.abc import Awaitable

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from state.logs import log
from taskapi.api.problems import Problem, to_problem
from taskapi.guard.layer import Layer

_ENDS = "Whether it was done is not known. Another try with the same Idempotency-Key does nothing twice."


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
        except asyncio.CancelledError:
            # The server ends, and waits for this request no longer. uvicorn would answer 500, which no client repeats.
            if started:
                raise
            await Problem("shutting-down", _ENDS, headers={"Retry-After": "1"}).to_response()(scope, receive, send)
        except Exception as failure:
            problem = to_problem(failure)
            if problem.token == "internal-error":  # noqa: S105
                log.exception("request failed", method=scope["method"], path=scope["path"])
            if started:
                raise
            await problem.to_response()(scope, receive, send)
