"""A service that sends nonsense: counts that cannot be counted, answers without end, JSON that is nested too deep."""

import json
from collections.abc import Callable, Iterator
from socket import SHUT_WR, socket
from typing import Any

import pytest

from providers.blocking import wait_for
from providers.embedding import registry as embeddings
from providers.errors import ProviderError
from providers.language import registry
from providers.language.protocol import Completion, Message
from tests.providers.servers.raw import RawServer

Serve = Callable[..., RawServer]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Iterator[bytes] | list[bytes], bytes], None]]:
    running: list[RawServer] = []

    def serve(parts: Iterator[bytes] | list[bytes], kind: bytes = b"text/event-stream") -> None:
        def script(connection: socket) -> None:
            connection.sendall(HEAD % kind)
            for part in parts:
                connection.sendall(part)
            connection.shutdown(SHUT_WR)
            while connection.recv(65536):  # closing before the request was read would break the connection
                pass

        running.append(RawServer(script))
        running[-1].__enter__()
        monkeypatch.setenv("OPENROUTER_BASE_URL", running[-1].origin)
        monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-0123456789abcdef")

    yield serve
    for server in running:
        server.__exit__()


def ask() -> Completion:
    return registry.get("openrouter").complete([Message(role="user", content="Four words for you")])


def event(**chunk: Any) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def say(text: str, **delta: Any) -> bytes:
    return event(choices=[{"delta": {"content": text, **delta}}])


@pytest.mark.parametrize("tokens", ["-1", '"many"', "1e999", "1" + "0" * 18, "NaN", "[]", "true", "{}"])
def test_what_cannot_be_counted_is_estimated(serve: Serve, tokens: str) -> None:
    usage = f'data: {{"usage": {{"prompt_tokens": {tokens}, "completion_tokens": {tokens}, "cost": {tokens}}}}}\n\n'
    serve([say("An answer."), usage.encode(), b"data: [DONE]\n\n"])
    completion = ask()
    assert wait_for(completion.read()) == "An answer."
    assert (completion.usage.tokens_in, completion.usage.tokens_out, completion.usage.cost) == (5, 3, None)


@pytest.mark.parametrize("usage", ["[]", '{"prompt_tokens": -1}', '{"prompt_tokens": "x"}', '{"prompt_tokens": 1e999}'])
def test_tokens_of_embeddings_are_estimated_too(serve: Serve, usage: str) -> None:
    answer = f'{{"data": [{{"index": 0, "embedding": [0.5, 0.5]}}], "usage": {usage}}}'
    serve([answer.encode()], b"application/json")
    assert wait_for(embeddings.get("openrouter").embed(["Four words for you"], 2)).tokens == 5


@pytest.mark.parametrize(
    "piece",
    [say("x" * 100_000), say("", reasoning_details=[{"type": "reasoning.text", "text": "x" * 100_000}])],
    ids=["text", "reasoning"],
)
def test_an_answer_without_end_is_cut_off(serve: Serve, piece: bytes) -> None:
    serve(iter(lambda: piece, b""))
    with pytest.raises(ProviderError, match="an answer of more than"):
        wait_for(ask().read())


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
def test_json_that_is_nested_too_deep_is_malformed(serve: Serve, kind: bytes) -> None:
    serve([*([b"data: "] if b"event" in kind else []), b'{"choices": ' + b"[" * 200_000 + b"\n\n"], kind)
    with pytest.raises(ProviderError, match="malformed JSON"):
        wait_for(ask().read())
    with pytest.raises(ProviderError, match="malformed JSON"):
        wait_for(embeddings.get("openrouter").embed(["a"], 2))
