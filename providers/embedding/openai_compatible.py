"""Provider `openrouter`: any embeddings API that speaks OpenAI's protocol."""

from collections.abc import Sequence
from typing import Any

from providers.embedding.protocol import DIMENSIONS, Embeddings
from providers.errors import InvalidInput, ServerError
from providers.genai import trace_call
from providers.language.openai_compatible import make_openrouter_api, read_number
from providers.language.sentences import count_tokens
from providers.settings import OpenRouterSettings, read


class OpenAICompatibleEmbedding:
    name = "openrouter"

    def find_missing_variable(self) -> str | None:
        return None if read(OpenRouterSettings).api_key else "OPENROUTER_API_KEY"

    async def embed(
        self, texts: Sequence[str], dimensions: int = DIMENSIONS, seconds: float | None = None
    ) -> Embeddings:
        settings = read(OpenRouterSettings)
        if seconds is not None:
            settings.timeout = min(settings.timeout, seconds)
        body = {
            "model": settings.embedding_model,
            "input": list(texts),
            "dimensions": dimensions,
            "encoding_format": "float",
        }
        with trace_call("embeddings", self.name, settings.embedding_model) as call:
            answer = await make_openrouter_api(settings).post("/embeddings", body)
            vectors = _read_vectors(answer)
            tokens = _count_tokens(answer, texts)
            call.tokens_in = tokens
        if len(vectors) != len(texts):
            raise ServerError(f"openrouter sent {len(vectors)} embeddings for {len(texts)} texts")
        for vector in vectors:
            if len(vector) != dimensions:
                message = f"{settings.embedding_model} gives {len(vector)} dimensions, not {dimensions}"
                raise InvalidInput(message, details={"service": "openrouter"})
        return Embeddings(vectors, settings.embedding_model, tokens)


def _count_tokens(answer: Any, texts: Sequence[str]) -> int:
    usage = answer.get("usage")
    tokens = read_number(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return int(tokens or sum(map(count_tokens, texts)))


def _read_vectors(answer: Any) -> list[list[float]]:
    try:
        entries = sorted(answer["data"], key=lambda entry: entry["index"])
        return [[float(value) for value in entry["embedding"]] for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise ServerError("openrouter sent JSON of an unknown structure") from error
