"""Calls of tools in OpenAI's chat protocol: how they are sent, and how they are put together from a stream."""

import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from providers.errors import ServerError
from providers.language.protocol import Message, Tool, ToolCall

MAX_CALLS = 64
MAX_ARGUMENTS = 1024 * 1024  # characters, of all calls of one answer
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def describe_tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": tool.model_dump()}


def describe_message(message: Message) -> dict[str, Any]:
    """Returns the message as the service expects it."""
    described = message.model_dump(exclude_none=True, exclude={"tool_calls"})
    if message.tool_calls:
        described["content"] = message.content or None
        described["tool_calls"] = [_describe_call(call) for call in message.tool_calls]
    return described


def _describe_call(call: ToolCall) -> dict[str, Any]:
    """Services refuse a history with malformed arguments or names. The result of the call says what was wrong."""
    function = {"name": _NOT_IN_NAMES.sub("_", call.name)[:64], "arguments": call.arguments}
    if not isinstance(_parse(call.arguments), dict):
        function["arguments"] = "{}"
    extra = {"extra_content": call.extra_content} if call.extra_content else {}
    return {"id": call.id, "type": "function", "function": function, **extra}


def _parse(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


class ToolCallPieces:
    """Puts calls together. OpenAI numbers them by `index`; Gemini and others leave it out, or number every call 0."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._calls: list[ToolCall] = []
        self._by_index: dict[int, int] = {}  # the service's number to the place in the list
        self._size = 0

    def add(self, part: Mapping[str, Any]) -> None:
        """Adds the calls of a `delta` or a `message`."""
        pieces = part.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add_piece(piece)

    def _add_piece(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        call = self._find(piece, str(name or ""))
        call.name = call.name or str(name or "")
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            self._size += len(text)
            call.arguments += text
        extra = piece.get("extra_content")
        if isinstance(extra, dict):
            call.extra_content = extra
        if self._size > MAX_ARGUMENTS or len(self._calls) > MAX_CALLS:
            raise ServerError(
                f"{self._service} sent more than {MAX_CALLS} calls of tools, or {MAX_ARGUMENTS} characters of arguments"
            )

    def _find(self, piece: Mapping[str, Any], name: str) -> ToolCall:
        """Returns the call that the piece belongs to, a new one if it begins there."""
        index, call_id = piece.get("index"), str(piece.get("id") or "")
        if isinstance(index, int):
            known = self._calls[self._by_index[index]] if index in self._by_index else None
        else:
            known = next((call for call in self._calls if call_id and call.id == call_id), None)
            if known is None and not call_id and not name and self._calls:
                known = self._calls[-1]
        if known is not None and (not call_id or not known.id or known.id == call_id):
            known.id = known.id or call_id
            return known
        if isinstance(index, int):
            self._by_index[index] = len(self._calls)
        self._calls.append(ToolCall(id=call_id, name="", arguments=""))
        return self._calls[-1]

    def finish(self) -> list[ToolCall]:
        """Returns the calls, each with an id of its own. One without a name cannot be answered and is left out."""
        seen: set[str] = set()
        calls = [call for call in self._calls if call.name]
        for call in calls:
            if not call.id or call.id in seen:
                call.id = uuid4().hex[:9]  # Mistral accepts only ids of nine letters and digits
            seen.add(call.id)
        return calls
