"""The interface of language providers: messages in, a stream of text out, and the usage at its end."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel


class Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass
class Usage:
    """Set by the provider while the completion is read; final at its end."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class Completion:
    """An answer that is being generated. Iterate over its pieces once; then text, model and usage are complete."""

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
        """Stops before the end. A remote model stops generating."""
        self._pieces.close()

    def read(self) -> str:
        """Returns the whole text."""
        for _ in self:
            pass
        return self.text


class LanguageProvider(Protocol):
    """All methods are synchronous. They raise only ProviderError, from `complete` or while its pieces are read."""

    @property
    def name(self) -> str: ...
    def find_missing_variable(self) -> str | None:
        """Returns the environment variable that has to be set first, None if the provider can be used."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
    ) -> Completion: ...
