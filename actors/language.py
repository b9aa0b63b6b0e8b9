"""Language models for actors: chooses the provider, streams its answer, and saves it so that it is paid for once."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from broker import AsyncContext
from providers.errors import ProviderError
from providers.language import registry
from providers.language.protocol import Message
from state import jsonsafe
from state.gates import Gate

REMOTE, LOCAL = "openrouter", "local"
_LONGEST_PIECE = 1_000_000


class Provider(Protocol):
    def find_missing_variable(self) -> str | None: ...


@dataclass(frozen=True)
class ModelAnswer:
    text: str
    model: str


def choose_provider(name: str | None, get: Callable[[str], Provider] = registry.get) -> str:
    """Returns the given provider; without one, the remote provider if it has its key, else the local one. Raises
    ValueError, which names the variable to set, if the given provider cannot be used."""
    if name is None:
        return LOCAL if get(REMOTE).find_missing_variable() else REMOTE
    try:
        missing = get(name).find_missing_variable()
    except ProviderError as unknown:
        raise ValueError(str(unknown)) from None
    if missing:
        raise ValueError(f"Provider {name} is not available: set {missing}")
    return name


def make_gates(provider: str | None) -> list[Gate]:
    """Returns the provider's gate. It has no limit, but all tasks wait while the breaker or a Retry-After closes it."""
    return [] if provider in (None, LOCAL) else [Gate(f"provider:{provider}", breaker=True)]


def list_known_gates() -> list[Gate]:
    return make_gates(REMOTE)


async def ask(
    ctx: AsyncContext,
    provider: str,
    messages: Sequence[Message],
    *,
    on_piece: Callable[[str], Awaitable[object]] | None = None,
    max_tokens: int | None = None,
    max_sentences: int | None = None,
) -> ModelAnswer:
    """Returns the answer, and awaits `on_piece` with each piece of it. The answer is saved under a hash of the request,
    so that a later attempt of this task does not pay for it again."""
    key = _make_key(provider, messages, max_tokens, max_sentences)
    saved = ctx.checkpoint.get(key)
    if saved is not None:
        if on_piece is not None:
            await on_piece(saved["text"])
        return ModelAnswer(**saved)
    pieces: list[str] = []
    completion = registry.get(provider).complete(messages, max_tokens=max_tokens, max_sentences=max_sentences)
    async with aclosing(completion):  # if the task is interrupted, the model stops too
        async for piece in completion:
            clean = jsonsafe.clean_text(piece, _LONGEST_PIECE)
            pieces.append(clean)
            if on_piece is not None:
                await on_piece(clean)
    answer = {"text": "".join(pieces), "model": completion.model}
    await ctx.save(**{key: answer})
    ctx.use(tokens=completion.usage.tokens, cost=completion.usage.cost or 0)
    return ModelAnswer(**answer)


def _make_key(provider: str, messages: Sequence[Message], max_tokens: int | None, max_sentences: int | None) -> str:
    asked = [provider, max_tokens, max_sentences, [message.model_dump(exclude_none=True) for message in messages]]
    return "answer_" + hashlib.sha256(jsonsafe.dump(asked).encode()).hexdigest()[:32]
