"""Provider `local`: summaries without a key. They consist of the sentences with the highest scores, in their order.
With tools it follows the lines of a prompt that name a step (`providers/language/script.py`)."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence

from providers.language.protocol import Completion, Message, Tool, Usage
from providers.language.script import follow_script
from providers.language.sentences import count_tokens, split_sentences

RATIO = 0.25
MAX_SENTENCES = 8
_WORD = re.compile(r"[^\W\d_][\w'’-]+")  # noqa: RUF001
_COMMON = """
a about after all also an and any are as at be because been before being but by can could did do
does for from had has have he her here him his how i if in into is it its just like may me more most
my no not of on one only or other our out over said she should since so some such than that the
their them then there these they this those through to too under until up us very was we were what
when where which while who will with would you your
"""
_STOP_WORDS = frozenset(_COMMON.split())


class LocalLanguage:
    """Summarizes the user messages and ignores instructions. It has no other model than its own."""

    name = "local"

    def find_missing_variable(self) -> str | None:
        return None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        max_sentences: int | None = None,
        tools: Sequence[Tool] = (),
        model: str | None = None,  # noqa: ARG002
    ) -> Completion:
        if tools:
            return follow_script(messages, tools)
        text = "\n\n".join(message.content for message in messages if message.role == "user")
        usage = Usage(tokens_in=count_tokens(text), cost=0.0)
        return Completion(_generate(text, max_tokens, max_sentences, usage), usage, "extractive")


async def _generate(
    text: str, max_tokens: int | None, max_sentences: int | None, usage: Usage
) -> AsyncGenerator[str, None]:
    """A long text takes seconds: in a thread, because others share the event loop."""
    for piece in await asyncio.to_thread(lambda: list(_summarize(text, max_tokens, max_sentences, usage))):
        yield piece


def _summarize(text: str, max_tokens: int | None, max_sentences: int | None, usage: Usage) -> Iterator[str]:
    sentences = split_sentences(text)
    wanted = max_sentences or max(1, min(MAX_SENTENCES, math.ceil(len(sentences) * RATIO)))
    best = sorted(_rank(sentences), key=lambda pair: (-pair[1], pair[0]))[:wanted]
    for index in sorted(index for index, _ in best):
        piece = f" {sentences[index]}" if usage.tokens_out else sentences[index]
        tokens = count_tokens(piece)
        if max_tokens is not None and usage.tokens_out and usage.tokens_out + tokens > max_tokens:
            return
        usage.tokens_out += tokens
        yield piece


def _rank(sentences: list[str]) -> list[tuple[int, float]]:
    """Scores sentences by how common their words are in the others (SumBasic, with a bonus for the first one). The
    time is linear in the length of the text, unlike TextRank's."""
    words = [[w for w in map(str.lower, _WORD.findall(s)) if w not in _STOP_WORDS] for s in sentences]
    spread = Counter(word for each in words for word in set(each))
    scores = []
    for index, each in enumerate(words):
        weight = sum(math.log(1 + spread[word]) for word in set(each))
        # Divided by a root of the length, so that long sentences have no advantage.
        score = weight / math.sqrt(len(each) + 4)
        scores.append((index, score * (1.2 if index == 0 else 1.0)))
    return scores
