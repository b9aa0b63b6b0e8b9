"""Provider `openrouter`: any chat API with OpenAI's protocol, streamed."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2

from providers.api import Api
from providers.errors import (
    AuthenticationFailed,
    InvalidInput,
    NetworkTimeout,
    ProviderError,
    ServerError,
    find_error_class,
    make_excerpt,
)
from providers.genai import trace_call
from providers.language.protocol import Completion, Message, Tool, ToolCall, Usage
from providers.language.sentences import count_tokens
from providers.language.sse import read_data
from providers.language.tool_calls import ToolCallPieces, describe_message, describe_tool
from providers.settings import OpenRouterSettings, read

DONE = "[DONE]"
_MAX_TEXT = 8 * 1024 * 1024  # characters of an answer and its reasoning: several times what any model generates
_MAX_TOKENS = 10**9  # of one answer, and dollars: what is above is a mistake of the service


class OpenAICompatibleLanguage:
    name = "openrouter"

    def find_missing_variable(self) -> str | None:
        return None if read(OpenRouterSettings).api_key else "OPENROUTER_API_KEY"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        tools: Sequence[Tool] = (),
        model: str | None = None,
    ) -> Completion:
        settings = read(OpenRouterSettings)
        sent = [describe_message(message) for message in messages]
        if max_sentences is not None:
            sent.insert(0, {"role": "system", "content": f"Answer in at most {max_sentences} sentences."})
        body: dict[str, Any] = {
            "model": model or settings.model,
            "messages": sent,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if tools:
            body["tools"] = [describe_tool(tool) for tool in tools]
            body["tool_choice"] = "auto"
        usage, calls, reasoning = Usage(), list[ToolCall](), list[dict[str, Any]]()
        pieces = _generate(make_openrouter_api(settings), body, usage, calls, reasoning)
        return Completion(pieces, usage, body["model"], calls, reasoning)


def make_openrouter_api(settings: OpenRouterSettings) -> Api:
    if settings.api_key is None:
        raise AuthenticationFailed("openrouter is not configured: set OPENROUTER_API_KEY")
    key = settings.api_key.get_secret_value()
    return Api("openrouter", settings.base_url, {"Authorization": f"Bearer {key}"}, settings.timeout)


async def _generate(
    api: Api, body: Mapping[str, Any], usage: Usage, calls: list[ToolCall], reasoning: list[dict[str, Any]]
) -> AsyncGenerator[str, None]:
    """Yields the pieces of the answer. If the generator is closed, so is the connection, and the service stops
    generating and charging."""
    text = ""
    reasoned = 0
    call_pieces = ToolCallPieces(api.service)
    with trace_call("chat", api.service, body["model"]) as call:
        async with api.stream("POST", "/chat/completions", json=body) as response:
            async for chunk in _read_chunks(api, response):
                _raise_error(chunk, api.service)
                _update_usage(chunk, usage)
                call.tokens_in, call.tokens_out = usage.tokens_in, usage.tokens_out
                part = _get_part(chunk)
                call_pieces.add(part)
                details = _get_reasoning(part)
                reasoning += details
                reasoned += len(repr(details)) if details else 0
                if len(text) + reasoned > _MAX_TEXT:
                    raise ServerError(f"{api.service} sent an answer of more than {_MAX_TEXT} characters")
                piece = part.get("content")
                if isinstance(piece, str) and piece:
                    text += piece
                    yield piece
            # Calls count even if the finish reason is not `tool_calls`: Gemini's is `stop`.
            calls += call_pieces.finish()
            if not text and not calls:
                # By OpenRouter's documentation the model is warming up, and a retry helps.
                raise ServerError(f"{api.service} generated nothing")
            if not usage.tokens:
                usage.tokens_in = sum(count_tokens(message["content"] or "") for message in body["messages"])
                usage.tokens_out = count_tokens(text) + sum(count_tokens(each.arguments) for each in calls)
            usage.is_final = True  # an interrupt while the connection is being closed must not lose the answer


async def _read_chunks(api: Api, response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    service = api.service
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        yield _parse_chunk(await api.read(response), service)
        return
    finished = False
    async for line in read_data(response, service, api.timeout):
        if line == DONE:
            return
        chunk = _parse_chunk(line, service)
        finished = finished or bool(_get_choice(chunk).get("finish_reason"))
        yield chunk
    if not finished:
        raise NetworkTimeout(f"{service} ended the stream before the answer was complete", details={"service": service})


def _parse_chunk(data: str | bytes, service: str) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{service} sent malformed JSON") from error
    if not isinstance(chunk, dict):
        raise ServerError(f"{service} sent JSON of an unknown structure")
    return chunk


def _raise_error(chunk: Mapping[str, Any], service: str) -> None:
    """Raises the error that a chunk contains. A stream that has begun cannot report it by its status, which is 200."""
    choice = _get_choice(chunk)
    error = chunk.get("error") or choice.get("error")
    if error:
        raise _make_error(error, service)
    if choice.get("finish_reason") == "content_filter":
        raise InvalidInput(f"{service} refused the content", details={"service": service})


def _make_error(error: Any, service: str) -> ProviderError:
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    kind = find_error_class(code) if isinstance(code, int) else ServerError
    text = make_excerpt(str(message))
    return kind(f"{service} failed: {text}", details={"service": service, "code": code, "body": text})


def _get_choice(chunk: Mapping[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _get_part(chunk: Mapping[str, Any]) -> dict[str, Any]:
    choice = _get_choice(chunk)
    part = choice.get("delta") or choice.get("message")
    return part if isinstance(part, dict) else {}


def _get_reasoning(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = part.get("reasoning_details")
    return [each for each in details if isinstance(each, dict)] if isinstance(details, list) else []


def _update_usage(chunk: Mapping[str, Any], usage: Usage) -> None:
    counted = chunk.get("usage")
    if isinstance(counted, dict):
        usage.tokens_in = int(read_number(counted.get("prompt_tokens")) or 0)
        usage.tokens_out = int(read_number(counted.get("completion_tokens")) or 0)
        usage.cost = read_number(counted.get("cost"))


def read_number(value: Any) -> float | None:
    """Returns None for what cannot be counted: no number, a negative one, one without bounds."""
    return value if type(value) in (int, float) and 0 <= value <= _MAX_TOKENS else None
