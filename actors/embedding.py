"""Embeddings: a vector for each text, or for the text of an agent event, which keeps it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.language import choose_provider, list_known_gates, make_gates
from broker import AsyncContext, task
from providers.blocking import wait_for
from providers.embedding import registry
from providers.embedding.protocol import DIMENSIONS, Embeddings
from providers.errors import InvalidInput, ProviderError
from state.access.caller import Caller
from state.agents import embedder
from state.agents.embedder import Embedded, NotEmbedded
from state.agents.events import get_event_text, store_embedding
from state.errors import AgentEventNotFound
from state.gates import Gate

_QUERY_SECONDS = 5.0  # somebody waits for the answer to a search, which can do without a vector


class EmbeddingRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    texts: list[Annotated[str, Field(min_length=1, max_length=100_000)]] | None = Field(
        None, min_length=1, max_length=100
    )
    event_id: str | None = Field(
        None, pattern=r"^ae_[0-9a-f]{32}$", description="An agent event that keeps the vector of its text."
    )
    dimensions: int = Field(DIMENSIONS, ge=1, le=4096)
    provider: str | None = Field(None, description="Unset: openrouter if it has its key, else local.")

    @model_validator(mode="after")
    def _check(self) -> "EmbeddingRequest":
        if (self.texts is None) == (self.event_id is None):
            raise ValueError("give texts, or the event_id of an agent event")
        if self.event_id is not None and self.dimensions != DIMENSIONS:
            raise ValueError(f"vectors of agent events have {DIMENSIONS} dimensions")
        self.provider = choose_provider(self.provider, registry.get)
        return self


class Vectors(BaseModel):
    vectors: list[list[float]]
    provider: str
    model: str


class EmbeddedEvent(BaseModel):
    event_id: str
    provider: str
    model: str


def provider_gate(request: EmbeddingRequest) -> list[Gate]:
    return make_gates(request.provider)


# Queue and attempts are also in state/functions/record_agent_event.sql, which queues the jobs of agent events.
@task(queue="language", max_attempts=4, time_limit=300, gates=provider_gate, known_gates=list_known_gates)
async def embedding(ctx: AsyncContext, request: EmbeddingRequest) -> Vectors | EmbeddedEvent:
    """Embeds texts, or the text of an agent event."""
    provider = choose_provider(request.provider, registry.get)
    if request.event_id is not None:
        return await _embed_event(ctx, request.event_id, provider)
    embedded = await _embed(ctx, provider, request.texts or [], request.dimensions)
    return Vectors(vectors=embedded.vectors, provider=provider, model=embedded.model)


async def _embed_event(ctx: AsyncContext, event_id: str, provider: str) -> EmbeddedEvent:
    try:
        # Whoever has submitted the task names the event: one of another tenant does not exist for it.
        caller = Caller("submitter", tenant=ctx.tenant)
        text = await ctx.run_verb(lambda: get_event_text(event_id, caller=caller))
    except AgentEventNotFound as missing:
        raise InvalidInput(str(missing)) from None
    embedded = await _embed(ctx, provider, [text], DIMENSIONS)
    result = EmbeddedEvent(event_id=event_id, provider=provider, model=embedded.model)
    fence, vector, model = (ctx.worker, ctx.task_id, ctx.epoch), embedded.vectors[0], embedded.model
    async with ctx.transaction(result) as conn:  # the job ends when the event has its vector, neither before nor later
        await conn.run(lambda connection: store_embedding(*fence, event_id, vector, model, connection))
    return result


async def _embed(ctx: AsyncContext, provider: str, texts: list[str], dimensions: int) -> Embeddings:
    ctx.progress(None, f"Asking {provider}")
    embedded = await registry.get(provider).embed(texts, dimensions)
    ctx.use(tokens=embedded.tokens)
    return embedded


def embed_query(text: str) -> Embedded:
    """Embeds the text of a search, as the jobs of this configuration embed events."""
    provider = choose_provider(None, registry.get)
    try:
        embedded = wait_for(registry.get(provider).embed([text], DIMENSIONS, _QUERY_SECONDS))
    except ProviderError as failure:
        raise NotEmbedded(f"{provider} did not embed the text ({failure})") from None
    return Embedded(embedded.vectors[0], embedded.model, embedded.tokens)


embedder.register(embed_query)
