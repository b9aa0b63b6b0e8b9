"""What a language provider does: messages in, a stream of text out, and the usage when it has ended."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel


class Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass
class Usage:
    """Filled in by the provider while the completion is read; final when it has ended."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class Completion:
    """An answer on its way: iterate over its pieces once; text, model and usage are whole after that."""

    def __init__(self, pieces: Generator[str], usage: Usage, model: str) -> None:
        self._pieces = pieces
        self.usage = usage
        self.model = model
        self.text = ""

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            self.text += piece
            yield piece

    def close(self) -> None:
        """Stop before the end: a remote model stops generating."""
        self._pieces.close()

    def read(self) -> str:
        """The whole text, for those who do not stream."""
        for _ in self:
            pass
        return self.text


class LanguageProvider(Protocol):
    """Synchronous; raises only ProviderError, from complete itself or while its pieces are read."""

    @property
    def name(self) -> str: ...
    def available(self) -> str | None:
        """None, or the name of the environment variable that is missing."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
    ) -> Completion: ...
