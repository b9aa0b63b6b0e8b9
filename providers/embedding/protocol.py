"""What an embedding provider does: texts in, vectors of one length out."""

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
    """Synchronous; raises only ProviderError."""

    @property
    def name(self) -> str: ...
    def available(self) -> str | None:
        """None, or the name of the environment variable that is missing."""

    def embed(self, texts: Sequence[str], dimensions: int = DIMENSIONS) -> Embeddings:
        """One vector for each text, in its order."""
