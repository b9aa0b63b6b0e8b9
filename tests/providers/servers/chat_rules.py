"""What OpenAI's chat API demands of a request with tools. A request that breaks a rule is refused with 400."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

ROLES = ("system", "user", "assistant", "tool")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def find_broken_rule(body: dict[str, Any]) -> str | None:
    """Returns the error message of the first rule that the request breaks."""
    return next(chain(_check_tools(body), _check_messages(body.get("messages"))), None)


def _check_tools(body: dict[str, Any]) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            yield "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
    elif not isinstance(tools, list) or not tools:
        yield "[] is too short - 'tools'"
    else:
        for place, tool in enumerate(tools):
            function = tool.get("function") or {}
            if tool.get("type") != "function":
                yield f"Invalid value: {tool.get('type')!r}. Supported values are: 'function'. (tools[{place}].type)"
            if not _NAME.match(str(function.get("name"))):
                yield f"Invalid 'tools[{place}].function.name': string does not match pattern."
            if (function.get("parameters") or {}).get("type") != "object":
                yield f"Invalid schema for function {function.get('name')!r}: its type must be 'object'."
    if "stream_options" in body and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."


def _check_messages(messages: Any) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield "[] is too short - 'messages'"
        return
    open_calls: set[str] = set()
    for place, message in enumerate([*messages, {"role": "end"}]):
        role = message.get("role")
        if role == "tool":
            yield from _check_result(message, place, open_calls)
            open_calls.discard(str(message.get("tool_call_id")))
            continue
        if open_calls:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_calls)}"
            )
        if place == len(messages):
            return
        if role not in ROLES:
            yield f"Invalid value: {role!r}. (messages[{place}].role)"
        if not isinstance(message.get("content"), str) and not message.get("tool_calls"):
            yield f"Invalid value for 'content': expected a string, got null. (messages[{place}].content)"
        calls = message.get("tool_calls") or []
        for call in calls:
            yield from _check_call(call, place)
        open_calls = {str(call.get("id")) for call in calls}
        if len(open_calls) < len(calls):
            yield f"Duplicate tool call ids. (messages[{place}].tool_calls)"


def _check_result(message: dict[str, Any], place: int, open_calls: set[str]) -> Iterator[str]:
    if message.get("tool_call_id") not in open_calls:
        yield (
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'. "
            f"(messages[{place}].role)"
        )
    if not isinstance(message.get("content"), str):
        yield f"Invalid type for 'messages[{place}].content': expected a string."


def _check_call(call: dict[str, Any], place: int) -> Iterator[str]:
    function = call.get("function") or {}
    where = f"messages[{place}].tool_calls"
    if not call.get("id") or call.get("type") != "function" or not _NAME.match(str(function.get("name"))):
        yield f"Missing or invalid id, type or name. ({where})"
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError):
        arguments = None
    if not isinstance(arguments, dict):  # of Anthropic's models, behind OpenRouter
        yield f"Invalid arguments: not a JSON object. ({where})"
