"""Provider `local`: embeddings by feature hashing. Texts are near if they share words, not if they share a meaning."""

import asyncio
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from providers.embedding.protocol import DIMENSIONS, Embeddings
from providers.language.sentences import count_tokens

_WORD = re.compile(r"\w+")
PART = 4


class LocalEmbedding:
    name = "local"

    def find_missing_variable(self) -> str | None:
        return None

    async def embed(
        self,
        texts: Sequence[str],
        dimensions: int = DIMENSIONS,
        seconds: float | None = None,  # noqa: ARG002  (it takes microseconds)
    ) -> Embeddings:
        return await asyncio.to_thread(_embed, texts, dimensions)  # long texts take a while


def _embed(texts: Sequence[str], dimensions: int) -> Embeddings:
    vectors = [_compute_vector(text, dimensions) for text in texts]
    return Embeddings(vectors, "hashing", sum(count_tokens(text) for text in texts))


def _compute_vector(text: str, dimensions: int) -> list[float]:
    vector = [0.0] * dimensions
    for feature, count in Counter(_list_features(text)).items():
        number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
        # Half of the features are negative, so that collisions cancel out instead of adding up.
        sign = 1.0 if number & 1 else -1.0
        weight = 1.0 if feature[0] == "w" else 0.4
        vector[(number >> 1) % dimensions] += sign * weight * (1.0 + math.log(count))
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


def _list_features(text: str) -> Iterator[str]:
    """Yields whole words, and parts of words, so that inflected forms are near each other."""
    for word in _WORD.findall(text.lower()):
        yield f"w{word}"
        padded = f"_{word}_"
        for start in range(max(1, len(padded) - PART + 1)):
            yield f"p{padded[start : start + PART]}"
