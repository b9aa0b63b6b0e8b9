"""Summarization: content in, summary out, sentence by sentence for whoever watches."""

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, task
from providers.language import registry
from providers.language.protocol import Message
from state.settings import get_settings

_INSTRUCTION = "Summarize the text of the user in a few sentences. Answer with the summary only."


class SummarizeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=2_000_000)
    max_sentences: int = Field(5, ge=1, le=50)


class Summary(BaseModel):
    summary: str
    provider: str
    model: str


@task(queue="language", max_attempts=4, max_age=lambda: get_settings().max_task_age, time_limit=1800)
def summarize(ctx: Context, request: SummarizeRequest) -> Summary:
    """Summarizes a text."""
    provider = registry.get("local")
    ctx.progress(0, "Reading")
    messages = [Message(role="system", content=_INSTRUCTION), Message(role="user", content=request.content)]
    completion = provider.complete(messages, max_sentences=request.max_sentences)
    for position, piece in enumerate(completion, start=1):
        ctx.emit("token", {"text": piece})
        ctx.progress(min(100 * position / request.max_sentences, 99), f"Sentence {position}")
    ctx.use(tokens=completion.usage.tokens, cost=completion.usage.cost or 0)
    return Summary(summary=completion.text, provider="local", model=completion.model)
