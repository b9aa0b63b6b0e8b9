"""Provider `openrouter`: any chat API that speaks OpenAI's protocol, streamed."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from providers.api import Api
from providers.errors import (
    MAX_EXCERPT,
    AuthenticationFailed,
    InvalidInput,
    NetworkTimeout,
    ProviderError,
    ServerError,
    error_class,
    mask,
)
from providers.language.protocol import Completion, Message, Usage
from providers.language.sentences import count_tokens
from providers.language.sse import data_lines
from providers.settings import OpenRouterSettings

DONE = "[DONE]"


class OpenAICompatibleLanguage:
    name = "openrouter"

    def available(self) -> str | None:
        return None if OpenRouterSettings().api_key else "OPENROUTER_API_KEY"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
    ) -> Completion:
        settings = OpenRouterSettings()
        sent = [message.model_dump() for message in messages]
        if max_sentences is not None:
            sent.insert(0, {"role": "system", "content": f"Answer in at most {max_sentences} sentences."})
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": sent,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        usage = Usage()
        return Completion(_pieces(openrouter_api(settings), body, usage), usage, settings.model)


def openrouter_api(settings: OpenRouterSettings) -> Api:
    if settings.api_key is None:
        raise AuthenticationFailed("openrouter is not configured: set OPENROUTER_API_KEY")
    key = settings.api_key.get_secret_value()
    return Api("openrouter", settings.base_url, {"Authorization": f"Bearer {key}"}, settings.timeout)


def _pieces(api: Api, body: Mapping[str, Any], usage: Usage) -> Generator[str]:
    """Closing this generator closes the connection, and the service stops generating (and charging)."""
    text = ""
    with api.stream("POST", "/chat/completions", json=body) as response:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            chunks = _streamed(data_lines(response, api.service, api.timeout), api.service)
        else:
            chunks = iter([_parsed(api.read(response), api.service)])
        for chunk in chunks:
            _check(chunk, api.service)
            _count(chunk, usage)
            piece = _content(chunk)
            if piece:
                text += piece
                yield piece
    if not text:
        # Its documentation says: a model that is warming up; try again.
        raise ServerError(f"{api.service} generated nothing")
    if not usage.tokens:
        usage.tokens_in = sum(count_tokens(message["content"]) for message in body["messages"])
        usage.tokens_out = count_tokens(text)


def _streamed(lines: Iterator[str], service: str) -> Iterator[dict[str, Any]]:
    finished = False
    for line in lines:
        if line == DONE:
            return
        chunk = _parsed(line, service)
        finished = finished or bool(_choice(chunk).get("finish_reason"))
        yield chunk
    if not finished:
        raise NetworkTimeout(f"{service} broke off in the middle of its answer", details={"service": service})


def _parsed(data: str | bytes, service: str) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise ServerError(f"{service} sent malformed JSON") from error
    if not isinstance(chunk, dict):
        raise ServerError(f"{service} sent an answer of an unknown shape")
    return chunk


def _check(chunk: Mapping[str, Any], service: str) -> None:
    """Raise the error that came in place of text: once a stream has begun, its status is 200 for good."""
    choice = _choice(chunk)
    error = chunk.get("error") or choice.get("error")
    if error:
        raise _reported(error, service)
    if choice.get("finish_reason") == "content_filter":
        raise InvalidInput(f"{service} refused the content", details={"service": service})


def _reported(error: Any, service: str) -> ProviderError:
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    kind = error_class(code) if isinstance(code, int) else ServerError
    text = mask(str(message))[:MAX_EXCERPT]
    return kind(f"{service} failed: {text}", details={"service": service, "code": code, "body": text})


def _choice(chunk: Mapping[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _content(chunk: Mapping[str, Any]) -> str | None:
    choice = _choice(chunk)
    part = choice.get("delta") or choice.get("message") or {}
    content = part.get("content")
    return content if isinstance(content, str) else None


def _count(chunk: Mapping[str, Any], usage: Usage) -> None:
    counted = chunk.get("usage")
    if isinstance(counted, dict):
        usage.tokens_in = counted.get("prompt_tokens") or 0
        usage.tokens_out = counted.get("completion_tokens") or 0
        usage.cost = counted.get("cost")
