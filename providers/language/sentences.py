"""Splits texts at the borders of sentences."""

import re
from collections.abc import Iterator

_SHORT = """
mr mrs ms dr prof sr jr st vs etc e.g i.e cf no vol fig approx inc ltd co u.s u.k a.m p.m
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_ABBREVIATIONS = frozenset(_SHORT.split())
# A mark with its closing quotes and a space, a full-width mark, or an empty line.
_BORDER = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+|(?<=[。！？])\s*|\n\s*\n\s*""")  # noqa: RUF001
_LAST_WORD = re.compile(r"([\w.]+)\.$")


def split_sentences(text: str) -> list[str]:
    """Returns the sentences of a text, with single spaces."""
    sentences: list[str] = []
    start = 0
    for border in _BORDER.finditer(text):
        candidate = text[start : border.end()]
        if border.group().count("\n") < 2 and not _is_end(candidate.strip(), text[border.end() :][:1]):
            continue
        sentences.append(candidate)
        start = border.end()
    sentences.append(text[start:])
    return [clean for sentence in sentences if (clean := " ".join(sentence.split()))]


def split_parts(text: str, max_chars: int) -> list[str]:
    """Splits a text into parts of at most max_chars, between sentences; long sentences are split between words."""
    parts: list[str] = []
    current = ""
    for sentence in split_sentences(text):
        for piece in _split_words(sentence, max_chars):
            if current and len(current) + 1 + len(piece) > max_chars:
                parts.append(current)
                current = piece
            else:
                current = f"{current} {piece}" if current else piece
    return [*parts, current] if current else parts


def count_tokens(text: str) -> int:
    """Estimates the tokens of a text: four characters each, and at least one for a word."""
    return max(len(text.split()), -(-len(text) // 4))


def _is_end(sentence: str, following: str) -> bool:
    """Returns whether the text ends with a sentence, not with an abbreviation or an initial."""
    if following.islower():
        return False
    word = _LAST_WORD.search(sentence)
    if word is None:
        return True
    text = word.group(1)
    return text.lower() not in _ABBREVIATIONS and not (len(text) == 1 and text.isupper() and text != "I")


def _split_words(sentence: str, max_chars: int) -> Iterator[str]:
    while len(sentence) > max_chars:
        cut = sentence.rfind(" ", 1, max_chars + 1)
        cut = cut if cut > 0 else max_chars
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence
