"""Reads a task's payload from the command line."""

import sys
from pathlib import Path
from typing import Any

from deploy.cli.exits import BAD_INPUT, Failure
from state import jsonsafe


def read_payload(argument: str | None, assignments: list[str]) -> dict[str, Any]:
    """Reads JSON, @file or - (stdin), then applies the `--set` assignments."""
    payload = {} if argument is None else _parse(argument)
    if not isinstance(payload, dict):
        raise Failure(BAD_INPUT, 'The input must be a JSON object, such as {"prompt": "a lighthouse"}.')
    return assign(payload, assignments)


def assign(payload: dict[str, Any], assignments: list[str]) -> dict[str, Any]:
    for assignment in assignments:
        _assign(payload, assignment)
    return payload


def _parse(argument: str) -> Any:
    if argument == "-":
        source, raw = "stdin", sys.stdin.buffer.read()
    elif argument.startswith("@"):
        source, raw = argument[1:], _read(argument[1:])
    else:
        source, raw = "the payload", argument.encode("utf-8", "surrogateescape")
    try:
        return jsonsafe.parse(raw)
    except jsonsafe.UnsafeJson as wrong:
        raise Failure(BAD_INPUT, f"{source}: {wrong}") from None


def _read(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as unreadable:
        raise Failure(BAD_INPUT, f"Cannot read {name}: {unreadable.strerror}.") from None


def _assign(payload: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals or not all(key.split(".")):
        raise Failure(BAD_INPUT, f"--set {assignment}: expected key=value, or key.inner=value.")
    *outer, last = key.split(".")
    place = payload
    for name in outer:
        inner = place.setdefault(name, {})
        if not isinstance(inner, dict):
            raise Failure(BAD_INPUT, f"--set {assignment}: {name} is not an object in this payload.")
        place = inner
    place[last] = _parse_value(text)


def _parse_value(text: str) -> Any:
    """Returns the value of JSON, the contents of @file, or else the text itself."""
    if text.startswith("@"):
        try:
            return _read(text[1:]).decode()
        except UnicodeDecodeError:
            raise Failure(BAD_INPUT, f"{text[1:]} is not UTF-8 text.") from None
    try:
        return jsonsafe.parse(text.encode("utf-8", "surrogateescape"))
    except jsonsafe.UnsafeJson:
        return text
