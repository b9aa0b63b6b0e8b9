"""Embeddings: a vector for each text."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.language import choose_provider, list_known_gates, make_gates
from broker import Context, task
from providers.embedding import registry
from providers.embedding.protocol import DIMENSIONS
from state.gates import Gate


class EmbeddingRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    texts: list[Annotated[str, Field(min_length=1, max_length=100_000)]] = Field(min_length=1, max_length=100)
    dimensions: int = Field(DIMENSIONS, ge=1, le=4096)
    provider: str | None = Field(None, description="Unset: openrouter if it has its key, else local.")

    @model_validator(mode="after")
    def _check_provider(self) -> "EmbeddingRequest":
        self.provider = choose_provider(self.provider, registry.get)
        return self


class Vectors(BaseModel):
    vectors: list[list[float]]
    provider: str
    model: str


def provider_gate(request: EmbeddingRequest) -> list[Gate]:
    return make_gates(request.provider)


@task(queue="language", time_limit=300, gates=provider_gate, known_gates=list_known_gates)
def embedding(ctx: Context, request: EmbeddingRequest) -> Vectors:
    """Embeds texts."""
    provider = choose_provider(request.provider, registry.get)
    ctx.progress(None, f"Asking {provider}")
    embedded = registry.get(provider).embed(request.texts, request.dimensions)
    ctx.use(tokens=embedded.tokens)
    return Vectors(vectors=embedded.vectors, provider=provider, model=embedded.model)
