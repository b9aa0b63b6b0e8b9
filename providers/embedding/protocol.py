"""The interface of embedding providers: texts in, vectors of one length out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

DIMENSIONS = 384


@dataclass(frozen=True)
class Embeddings:
    vectors: list[list[float]]
    model: str
    tokens: int


class EmbeddingProvider(Protocol):
    """Raises only ProviderError."""

    @property
    def name(self) -> str: ...
    def find_missing_variable(self) -> str | None:
        """Returns the environment variable that has to be set first, None if the provider can be used."""

    async def embed(
        self, texts: Sequence[str], dimensions: int = DIMENSIONS, seconds: float | None = None
    ) -> Embeddings:
        """Returns one vector for each text, in the same order. `seconds`: the time limit, for somebody who waits;
        None: as the provider is set."""
