"""Summarization: content in, summary out, word by word for whoever watches. Long texts are summarized in parts."""

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from actors.language import Answer, ask, chosen, gate_of, known_gates
from broker import Context, task
from providers.language.protocol import Message
from providers.language.sentences import split_parts
from state.gates import Gate
from state.settings import get_settings

_ONLY = "Keep to its language. Answer with the summary only."
_WHOLE = f"Summarize the text of the user in a few sentences. {_ONLY}"
_PART = f"The text of the user is a part of a longer one. Summarize it in a few sentences. {_ONLY}"
_MERGE = f"The text of the user consists of summaries of the parts of a longer text, in order. Merge them. {_ONLY}"

PART_CHARS = 24_000  # about 6,000 tokens: any current model takes that at once
_SHRINK = 3  # a part's summary is at most that fraction of a part, so that every round makes the text shorter
_CHARS_PER_TOKEN = 4
_CHARS_PER_SENTENCE = 120
_MERGING = 90.0  # percent when all parts are done


class SummarizeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=2_000_000)
    max_sentences: int = Field(5, ge=1, le=50)
    provider: str | None = Field(None, description="Unset: openrouter when it has its key, else local.")
    part_chars: int = Field(PART_CHARS, ge=200, le=400_000, description="Longer texts are summarized in parts.")

    @field_validator("content")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("there is nothing to summarize")
        return value

    @model_validator(mode="after")
    def _the_provider_is_there(self) -> "SummarizeRequest":
        self.provider = chosen(self.provider)
        return self


class Summary(BaseModel):
    summary: str
    provider: str
    model: str


def provider_gate(request: SummarizeRequest) -> list[Gate]:
    return gate_of(request.provider)


@task(
    queue="language",
    max_age=lambda: get_settings().max_task_age,
    time_limit=1800,
    gates=provider_gate,
    known_gates=known_gates,
)
def summarize(ctx: Context, request: SummarizeRequest) -> Summary:
    """Summarizes a text."""
    provider = chosen(request.provider)
    ctx.progress(0, "Reading")
    text = _in_parts(ctx, request, provider)
    instruction, done = (_WHOLE, 0.0) if text is request.content else (_MERGE, _MERGING)
    answer = _told(ctx, request, provider, [_system(instruction), Message(role="user", content=text)], done)
    return Summary(summary=answer.text, provider=provider, model=answer.model)


def _in_parts(ctx: Context, request: SummarizeRequest, provider: str) -> str:
    """A text that is short enough: the content itself, or the summaries of its parts, or the summaries of those."""
    text, rounds = request.content, 0
    while len(text) > request.part_chars:
        rounds += 1
        parts = split_parts(text, request.part_chars)
        summaries = []
        for number, part in enumerate(parts, start=1):
            share = _MERGING * (number - 1) / len(parts) if rounds == 1 else _MERGING
            ctx.progress(share, f"Part {number} of {len(parts)}")
            summary = _of_part(ctx, request, provider, part)
            ctx.emit("part", {"round": rounds, "part": number, "of": len(parts), "summary": summary})
            summaries.append(summary)
        text = "\n\n".join(summaries)
    return text


def _of_part(ctx: Context, request: SummarizeRequest, provider: str, part: str) -> str:
    longest = request.part_chars // _SHRINK
    answer = ask(
        ctx,
        provider,
        [_system(_PART), Message(role="user", content=part)],
        max_tokens=longest // _CHARS_PER_TOKEN,
        max_sentences=request.max_sentences,
    )
    return split_parts(answer.text, longest)[0] if answer.text.strip() else ""


def _told(ctx: Context, request: SummarizeRequest, provider: str, messages: list[Message], done: float) -> Answer:
    """The summary itself: its tokens are events."""
    written = 0

    def tell(piece: str) -> None:
        nonlocal written
        written += len(piece)
        ctx.emit("token", {"text": piece})
        share = min(written / (request.max_sentences * _CHARS_PER_SENTENCE), 1.0)
        ctx.progress(done + (99 - done) * share, "Writing the summary")

    return ask(ctx, provider, messages, tell=tell, max_sentences=request.max_sentences)


def _system(instruction: str) -> Message:
    return Message(role="system", content=instruction)
