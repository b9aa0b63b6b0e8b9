"""An agent that analyzes texts without a language model."""

import re
from collections import Counter

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, agent

_WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001  (both apostrophes are in use)
_FOUND = {  # each tries a place in the text once: a long text without matches must not take long
    "emails": re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "urls": re.compile(r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]"),
    "dates": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "numbers": re.compile(r"(?<![\w.-])(?<!\d,)-?\d+(?:[.,]\d+)*(?![\w-])"),
}
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


class ExtractInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=1_000_000)


class Extracts(BaseModel):
    """Each one once, in the order of the text."""

    emails: list[str]
    urls: list[str]
    dates: list[str] = Field(description="ISO 8601 only.")
    numbers: list[str]


@agent("text", "extract")
def extract(ctx: Context, request: ExtractInput) -> Extracts:
    """Finds the addresses, links, dates and numbers in a text."""
    found = {kind: list(dict.fromkeys(pattern.findall(request.text))) for kind, pattern in _FOUND.items()}
    ctx.progress(100, f"{sum(map(len, found.values()))} found")
    return Extracts(**found)
