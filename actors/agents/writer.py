"""An agent that completes prompts with a language model."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.language import ask, choose_provider, list_known_gates, make_gates
from broker import AsyncContext, agent
from providers.language.protocol import Message
from state.gates import Gate


class CompleteInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=200_000)
    instruction: str | None = Field(None, max_length=20_000)
    max_tokens: int | None = Field(None, ge=1, le=100_000)
    provider: str | None = Field(None, description="Unset: openrouter if it has its key, else local.")

    @model_validator(mode="after")
    def _check_provider(self) -> "CompleteInput":
        choose_provider(self.provider)
        return self


class Text(BaseModel):
    text: str
    provider: str
    model: str


def provider_gate(request: CompleteInput) -> list[Gate]:
    return make_gates(choose_provider(request.provider))


@agent("writer", "complete", gates=provider_gate, known_gates=list_known_gates)
async def complete(ctx: AsyncContext, request: CompleteInput) -> Text:
    """Completes a prompt, and emits each token as an event."""
    provider = choose_provider(request.provider)
    messages = [Message(role="user", content=request.prompt)]
    if request.instruction:
        messages.insert(0, Message(role="system", content=request.instruction))
    ctx.progress(None, f"Asking {provider}")

    async def emit_token(piece: str) -> None:
        await ctx.emit("token", {"text": piece})

    answer = await ask(ctx, provider, messages, on_piece=emit_token, max_tokens=request.max_tokens)
    return Text(text=answer.text, provider=provider, model=answer.model)
