"""Summarization. The summary is streamed as events. Long texts are summarized in parts, whose summaries are merged."""

import asyncio

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from actors.language import ModelAnswer, ask, choose_provider, list_known_gates, make_gates
from broker import AsyncContext, task
from providers.language.protocol import Message
from providers.language.sentences import split_parts
from state.gates import Gate
from state.settings import get_settings

_ONLY = "Keep to its language. Answer with the summary only."
_WHOLE = f"Summarize the text of the user in a few sentences. {_ONLY}"
_PART = f"The text of the user is a part of a longer one. Summarize it in a few sentences. {_ONLY}"
_MERGE = f"The text of the user consists of summaries of the parts of a longer text, in order. Merge them. {_ONLY}"

PART_CHARS = 24_000  # about 6,000 tokens, which any current model takes at once
_SHRINK = 3  # a summary has at most this fraction of its part, so that every round makes the text shorter
_CHARS_PER_TOKEN = 4
_CHARS_PER_SENTENCE = 120
_MERGING = 90.0  # percent after all parts are summarized


class SummarizeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=2_000_000)
    max_sentences: int = Field(5, ge=1, le=50)
    provider: str | None = Field(None, description="Unset: openrouter if it has its key, else local.")
    part_chars: int = Field(PART_CHARS, ge=200, le=400_000, description="Longer texts are summarized in parts.")

    @field_validator("content")
    @classmethod
    def _check_content(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("there is nothing to summarize")
        return value

    @model_validator(mode="after")
    def _check_provider(self) -> "SummarizeRequest":
        self.provider = choose_provider(self.provider)
        return self


class Summary(BaseModel):
    summary: str
    provider: str
    model: str


def provider_gate(request: SummarizeRequest) -> list[Gate]:
    return make_gates(request.provider)


@task(
    queue="language",
    max_age=lambda: get_settings().max_task_age,
    time_limit=1800,
    gates=provider_gate,
    known_gates=list_known_gates,
)
async def summarize(ctx: AsyncContext, request: SummarizeRequest) -> Summary:
    """Summarizes a text."""
    provider = choose_provider(request.provider)
    ctx.progress(0, "Reading")
    text = await _shorten(ctx, request, provider)
    instruction, done = (_WHOLE, 0.0) if text is request.content else (_MERGE, _MERGING)
    answer = await _write_summary(ctx, request, provider, _make_messages(instruction, text), done)
    return Summary(summary=answer.text, provider=provider, model=answer.model)


async def _shorten(ctx: AsyncContext, request: SummarizeRequest, provider: str) -> str:
    """Returns a text that is short enough: the content itself, or the summaries of its parts, or summaries of those."""
    text, rounds = request.content, 0
    while len(text) > request.part_chars:
        rounds += 1
        parts = await asyncio.to_thread(split_parts, text, request.part_chars)
        summaries = []
        for number, part in enumerate(parts, start=1):
            share = _MERGING * (number - 1) / len(parts) if rounds == 1 else _MERGING
            ctx.progress(share, f"Part {number} of {len(parts)}")
            summary = await _summarize_part(ctx, request, provider, part)
            await ctx.emit("part", {"round": rounds, "part": number, "of": len(parts), "summary": summary})
            summaries.append(summary)
        text = "\n\n".join(summaries)
    return text


async def _summarize_part(ctx: AsyncContext, request: SummarizeRequest, provider: str, part: str) -> str:
    longest = request.part_chars // _SHRINK
    answer = await ask(
        ctx,
        provider,
        _make_messages(_PART, part),
        max_tokens=longest // _CHARS_PER_TOKEN,
        max_sentences=request.max_sentences,
    )
    return split_parts(answer.text, longest)[0] if answer.text.strip() else ""


async def _write_summary(
    ctx: AsyncContext, request: SummarizeRequest, provider: str, messages: list[Message], done: float
) -> ModelAnswer:
    """Writes the final summary, and emits each token as an event."""
    written = 0

    async def on_piece(piece: str) -> None:
        nonlocal written
        written += len(piece)
        await ctx.emit("token", {"text": piece})
        share = min(written / (request.max_sentences * _CHARS_PER_SENTENCE), 1.0)
        ctx.progress(done + (99 - done) * share, "Writing the summary")

    return await ask(ctx, provider, messages, on_piece=on_piece, max_sentences=request.max_sentences)


def _make_messages(instruction: str, text: str) -> list[Message]:
    return [Message(role="system", content=instruction), Message(role="user", content=text)]
