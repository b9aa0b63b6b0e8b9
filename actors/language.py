"""How actors use language models: which one, word for word as it answers, and each answer paid for once."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from broker import Context
from providers.errors import ProviderError
from providers.language import registry
from providers.language.protocol import Message
from state import jsonsafe
from state.gates import Gate

REMOTE, LOCAL = "openrouter", "local"
_LONGEST_PIECE = 1_000_000


class Provider(Protocol):
    def available(self) -> str | None: ...


@dataclass(frozen=True)
class Answer:
    text: str
    model: str


def chosen(name: str | None, get: Callable[[str], Provider] = registry.get) -> str:
    """The provider that was asked for, if it can be used; otherwise the remote one where it has its key. Its
    ValueError names the variable to set, and becomes the refusal of the payload."""
    if name is None:
        return LOCAL if get(REMOTE).available() else REMOTE
    try:
        missing = get(name).available()
    except ProviderError as unknown:
        raise ValueError(str(unknown)) from None
    if missing:
        raise ValueError(f"Provider {name} is not available: set {missing}")
    return name


def gate_of(provider: str | None) -> list[Gate]:
    """No limit of its own, but a gate: where it closes (breaker, Retry-After), all who need it wait."""
    return [] if provider in (None, LOCAL) else [Gate(f"provider:{provider}", breaker=True)]


def known_gates() -> list[Gate]:
    return gate_of(REMOTE)


def ask(
    ctx: Context,
    provider: str,
    messages: Sequence[Message],
    *,
    tell: Callable[[str], None] | None = None,
    max_tokens: int | None = None,
    max_sentences: int | None = None,
) -> Answer:
    """The answer, told piece by piece. It is saved under what was asked, so that a later attempt of this task finds
    it there and does not pay again."""
    key = _key(provider, messages, max_tokens, max_sentences)
    saved = ctx.checkpoint.get(key)
    if saved is not None:
        if tell is not None:
            tell(saved["text"])
        return Answer(**saved)
    pieces: list[str] = []
    completion = registry.get(provider).complete(messages, max_tokens=max_tokens, max_sentences=max_sentences)
    with closing(completion):  # when we are interrupted, the model stops as well
        for piece in completion:
            clean = jsonsafe.clean_text(piece, _LONGEST_PIECE)
            pieces.append(clean)
            if tell is not None:
                tell(clean)
    answer = {"text": "".join(pieces), "model": completion.model}
    ctx.save(**{key: answer})
    ctx.use(tokens=completion.usage.tokens, cost=completion.usage.cost or 0)
    return Answer(**answer)


def _key(provider: str, messages: Sequence[Message], max_tokens: int | None, max_sentences: int | None) -> str:
    asked = [provider, max_tokens, max_sentences, [message.model_dump() for message in messages]]
    return "answer_" + hashlib.sha256(jsonsafe.dump(asked).encode()).hexdigest()[:32]
