"""An agent that analyzes texts without a language model."""

import re
from collections import Counter

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, agent

_WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001  (both apostrophes are in use)
_SENTENCE_END = re.compile(r"[.!?…]+(?:\s|$)")


class StatisticsInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=1_000_000)
    top: int = Field(10, ge=1, le=100)


class Statistics(BaseModel):
    characters: int
    words: int
    sentences: int
    top_words: list[tuple[str, int]]


@agent("text", "statistics")
def count_words(ctx: Context, request: StatisticsInput) -> Statistics:
    """Counts characters, words and sentences, and finds the most frequent words."""
    words = [word.lower() for word in _WORD.findall(request.text)]
    ctx.progress(50, f"{len(words)} words")
    sentences = len(_SENTENCE_END.findall(request.text)) or int(bool(words))
    return Statistics(
        characters=len(request.text),
        words=len(words),
        sentences=sentences,
        top_words=Counter(words).most_common(request.top),
    )
