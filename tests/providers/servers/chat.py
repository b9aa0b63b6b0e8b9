"""OpenAI's chat completions with tools, and embeddings, with OpenRouter's habits: comments while it thinks, errors in
the middle of a stream, the cost in the usage."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.providers.servers.chat_rules import find_broken_rule
from tests.providers.servers.chat_script import Answer, Script, choose_answer, count_answers, make_calls, make_deltas
from tests.providers.servers.faults import Faults
from tests.providers.servers.running import RunningServer

BROKEN = ("silent", "error", "filtered", "malformed", "cut", "ends")
KEY = "sk-or-v1-0123456789abcdef"


def problem(text: str, status: int, **metadata: object) -> JSONResponse:
    return JSONResponse({"error": {"code": status, "message": text, "metadata": metadata}}, status)


def refuse(text: str) -> JSONResponse:
    """OpenAI's error body, as OpenRouter passes it on."""
    raw = {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}
    return problem("Provider returned error", 400, raw=json.dumps(raw), provider_name="OpenAI")


def chunk(content: str | None, finish_reason: str | None = None, **more: object) -> dict[str, Any]:
    return delta_chunk({"role": "assistant", "content": content}, finish_reason, **more)


def delta_chunk(delta: dict[str, Any], finish_reason: str | None = None, **more: object) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "gen-1", "object": "chat.completion.chunk", "choices": [choice], **more}


def answer_to(messages: list[dict[str, Any]]) -> list[str]:
    """The pieces of the answer: the beginning of the last message, word by word."""
    words = (messages[-1]["content"] or "").split()[:20]
    return [word if number == 0 else f" {word}" for number, word in enumerate(["In short:", *words])]


class ChatServer(RunningServer):
    def __init__(self, port: int = 0, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self.reset()
        routes = [
            Route("/api/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/api/v1/embeddings", self._embeddings, methods=["POST"]),
        ]
        super().__init__(Starlette(routes=routes), port)
        self.base_url = f"{self.origin}/api/v1"

    def reset(self) -> None:
        self.faults = Faults()
        self.seconds = self._seconds
        self.holds = False  # streams do not go on after their first piece
        self.requests: list[dict[str, Any]] = []
        self.streams_ended_early = 0
        self.script: Script = []  # the answers to requests with tools
        self.paid: Counter[tuple[str, int]] = Counter()
        """How often an answer was generated to its end, by the first user message and the number of the answer."""

    @property
    def chat_requests(self) -> list[dict[str, Any]]:
        """Without those for embeddings, which follow the end of each task of an agent."""
        return [each for each in self.requests if "messages" in each]

    async def _accept(self, request: Request, stage: str) -> tuple[Response | None, dict[str, Any]]:
        body = await request.json()
        self.requests.append(body)
        given = request.headers.get("authorization", "")
        if given != f"Bearer {KEY}":
            return problem(f"No auth credentials found in {given}", 401), body
        prompt = (body["messages"][-1].get("content") or "") if body.get("messages") else ""
        if "naked" in prompt:
            return problem("Your input was flagged", 403, reasons=["sexual"], flagged_input=prompt), body
        return await self.faults.answer(request, stage, prompt), body

    async def _chat(self, request: Request) -> Response:
        refused, body = await self._accept(request, "chat")
        if refused:
            return refused
        if not body.get("model"):
            return problem("No model", 400)
        broken_rule = find_broken_rule(body)
        if broken_rule:
            return refuse(broken_rule)
        fault = self.faults.take("stream")
        answer = self._answer(body)
        turn = count_answers(body["messages"])
        usage = {"prompt_tokens": 100, "completion_tokens": 21, "total_tokens": 121, "cost": 0.00042}
        if fault == "not-streamed" or not body.get("stream"):
            message = {"role": "assistant", "content": answer.text, **answer.more}
            if answer.calls:
                message |= {"content": answer.text or None, "tool_calls": make_calls(answer, turn)}
            self._note_paid(body)
            return JSONResponse({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        return StreamingResponse(self._stream(body, answer, fault, usage), media_type="text/event-stream")

    def _answer(self, body: dict[str, Any]) -> Answer:
        if "tools" in body and self.script:
            return choose_answer(self.script, body["messages"])
        pieces = answer_to(body["messages"])
        return Answer("".join(pieces), pieces=pieces)

    def _note_paid(self, body: dict[str, Any]) -> None:
        first = next((message["content"] for message in body["messages"] if message["role"] == "user"), "")
        self.paid[first, count_answers(body["messages"])] += 1

    async def _stream(
        self, body: dict[str, Any], answer: Answer, fault: int | str | None, usage: dict[str, Any]
    ) -> AsyncIterator[str]:
        finished = False
        shape = self.faults.take("shape")
        try:
            yield ": OPENROUTER PROCESSING\n\n"
            pieces = [] if fault == "empty" else make_deltas(answer, count_answers(body["messages"]), shape)
            for number, delta in enumerate(pieces):
                if number == 2 and fault in BROKEN:
                    async for part in self._broken(fault):
                        yield part
                    return
                yield f"data: {json.dumps(delta_chunk(delta))}\n\n"
                await asyncio.sleep(self.seconds)
                while self.holds:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            reason = "tool_calls" if answer.calls and shape is None else "stop"
            yield f"data: {json.dumps(chunk('', reason))}\n\n"
            self._note_paid(body)
            if fault != "no-usage":
                yield f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n"
            yield "data: [DONE]\n\n"
            finished = True
        finally:
            self.streams_ended_early += not finished

    async def _broken(self, fault: int | str | None) -> AsyncIterator[str]:
        if fault == "silent":
            for _ in range(2000):
                yield ": OPENROUTER PROCESSING\n\n"
                await asyncio.sleep(0.01)
        elif fault == "error":
            error = {"code": 502, "message": "Provider disconnected unexpectedly"}
            yield f"data: {json.dumps(chunk('', 'error', error=error))}\n\n"
        elif fault == "filtered":
            yield f"data: {json.dumps(chunk('', 'content_filter'))}\n\n"
        elif fault == "malformed":
            yield 'data: {"choices": [\n\n'
        elif fault == "cut":
            raise ConnectionAbortedError("as the test wants it")

    async def _embeddings(self, request: Request) -> Response:
        refused, body = await self._accept(request, "embeddings")
        if refused:
            return refused
        length = self.faults.take("dimensions") or body["dimensions"]
        data = [
            {"object": "embedding", "index": index, "embedding": _vector(text, int(length))}
            for index, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 8, "total_tokens": 8}
        return JSONResponse({"object": "list", "data": data[::-1], "model": body["model"], "usage": usage})


def _vector(text: str, length: int) -> list[float]:
    seed = hashlib.sha256(text.encode()).digest()
    return [seed[index % 32] / 255 for index in range(length)]
