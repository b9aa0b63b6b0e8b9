"""The function that embeds the text of a search. The package of actors registers it: state knows no providers."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Embedded:
    vector: list[float]
    model: str
    tokens: int


class NotEmbedded(Exception):
    """The text says why there is no vector, for people who search."""


Embedder = Callable[[str], Embedded]

_embedder: Embedder | None = None


def register(embedder: Embedder) -> None:
    """Replaces the one before. It may raise NotEmbedded, and nothing else."""
    global _embedder
    _embedder = embedder


def embed(text: str) -> Embedded:
    """Raises NotEmbedded if there is no vector that could be compared with others."""
    if _embedder is None:
        raise NotEmbedded("no module of CALLBOARD_ACTORS registers an embedder")
    embedded = _embedder(text)
    if not is_comparable(embedded.vector):
        raise NotEmbedded("the text has no vector: it may have no words")
    return embedded


def is_comparable(vector: list[float]) -> bool:
    """Whether the vector has a direction, and values that Postgres's real can hold."""
    return any(vector) and all(abs(value) < 1e37 for value in vector)  # false for NaN as well
