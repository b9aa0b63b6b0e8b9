"""Scripted answers of the chat server, with calls of tools, in the shapes in which services stream them."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

SHAPES = ("interleaved", "no-index", "no-id", "same-index", "one-piece", "objects")


@dataclass
class Answer:
    """An answer of the model: a text (streamed in pieces, by default in words), calls of tools (name and arguments),
    or both."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)  # other fields of the message, such as reasoning_details
    pieces: list[str] | None = None


# The k-th answer is given to a conversation with k answers: it depends on the request alone, like a model's.
Script = Sequence[Answer | Callable[[list[dict[str, Any]]], Answer]]


def count_answers(messages: list[dict[str, Any]]) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def choose_answer(script: Script, messages: list[dict[str, Any]]) -> Answer:
    answer = script[min(count_answers(messages), len(script) - 1)]
    return answer if isinstance(answer, Answer) else answer(messages)


def make_calls(answer: Answer, turn: int) -> list[dict[str, Any]]:
    """Returns the calls of a whole message. Arguments that are text stay as they are."""
    return [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for place, (name, arguments) in enumerate(answer.calls)
    ]


def make_deltas(answer: Answer, turn: int, shape: int | str | None) -> Iterator[dict[str, Any]]:
    """Yields the deltas of a streamed answer."""
    for piece in re.findall(r"\s*\S+\s*$|\s*\S+", answer.text) if answer.pieces is None else answer.pieces:
        yield {"role": "assistant", "content": piece}
    if answer.more:
        yield {"role": "assistant", "content": "", **answer.more}
    numbered = [
        (index, piece)
        for index, call in enumerate(make_calls(answer, turn))
        for piece in _split_call(call, whole=shape in ("one-piece", "same-index", "objects"))
    ]
    if shape == "interleaved":
        numbered = _interleave(numbered)
    for index, piece in numbered:
        if shape != "no-index":
            piece["index"] = 0 if shape == "same-index" else index
        if shape == "no-id":
            piece.pop("id", None)
        if shape == "objects":
            piece["function"]["arguments"] = json.loads(piece["function"]["arguments"])
        yield {"role": "assistant", "content": None, "tool_calls": [piece]}


def _interleave(numbered: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Takes the pieces of all calls in turn."""
    by_call = [list(pieces) for _, pieces in groupby(numbered, key=itemgetter(0))]
    return [piece for round_ in zip_longest(*by_call) for piece in round_ if piece is not None]


def _split_call(call: dict[str, Any], *, whole: bool) -> Iterator[dict[str, Any]]:
    if whole:
        yield call
        return
    function = call["function"]
    yield {**call, "function": {"name": function["name"], "arguments": ""}}
    size = max(7, len(function["arguments"]) // 100)
    for start in range(0, len(function["arguments"]), size):
        yield {"function": {"arguments": function["arguments"][start : start + size]}}
