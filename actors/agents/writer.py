"""An agent that writes what it is asked for, with a language model."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from actors.language import ask, chosen
from broker import Context
from providers.language.protocol import Message


class CompleteInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt: str = Field(min_length=1, max_length=200_000)
    instruction: str | None = Field(None, max_length=20_000)
    max_tokens: int | None = Field(None, ge=1, le=100_000)
    provider: str | None = Field(None, description="Unset: openrouter when it has its key, else local.")

    @model_validator(mode="after")
    def _the_provider_is_there(self) -> "CompleteInput":
        chosen(self.provider)
        return self


class Text(BaseModel):
    text: str
    provider: str
    model: str


def complete(ctx: Context, request: CompleteInput) -> Text:
    """Completes a prompt; its tokens are events."""
    provider = chosen(request.provider)
    messages = [Message(role="user", content=request.prompt)]
    if request.instruction:
        messages.insert(0, Message(role="system", content=request.instruction))
    ctx.progress(None, f"Asking {provider}")
    answer = ask(
        ctx, provider, messages, tell=lambda piece: ctx.emit("token", {"text": piece}), max_tokens=request.max_tokens
    )
    return Text(text=answer.text, provider=provider, model=answer.model)
