"""JSON that Postgres can store: jsonb refuses NUL characters, half surrogate pairs and NaN, which Python accepts."""

import json
import math
import re
from typing import Any

from pydantic_core import to_json

MAX_DEPTH = 64
MAX_CONTAINERS = 100_000  # objects and lists: small ones take a hundred times as much memory as their text

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)

_Path = tuple["_Path", str] | None  # the steps that lead to a value; joined only for an error


class UnsafeJson(ValueError):
    """Text or data that cannot be stored as JSON; `path` is its place in the document."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


def check(value: Any) -> None:
    """Raises UnsafeJson for data that jsonb would refuse or change."""
    if not _looks_safe(value):
        _search(value)


def _looks_safe(value: Any) -> bool:
    """Returns True if the text of the data proves that it is safe. That is true for most data, and several times faster
    than a search."""
    try:
        text = to_json(value, inf_nan_mode="constants")
    except ValueError:
        return False
    containers = text.count(b"{") + text.count(b"[")
    return containers <= MAX_DEPTH and b"\\u0000" not in text and b"NaN" not in text and b"Infinity" not in text


def _search(value: Any) -> None:
    """Iterative, because the data may be nested deeper than Python's stack allows."""
    stack: list[tuple[Any, _Path, int]] = [(value, None, 1)]
    while stack:
        item, path, depth = stack.pop()
        if isinstance(item, str):
            _check_text(item, path)
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise UnsafeJson("not a finite number", _format(path))
        elif isinstance(item, dict):
            _check_depth(depth, path)
            for key, child in item.items():
                _check_text(str(key), path)
                stack.append((child, (path, f".{key}"), depth + 1))
        elif isinstance(item, list):
            _check_depth(depth, path)
            stack.extend((child, (path, f"[{index}]"), depth + 1) for index, child in enumerate(item))


def parse(raw: bytes) -> Any:
    """Parses JSON from outside, strictly."""
    if _count_containers(raw) > MAX_CONTAINERS:
        raise UnsafeJson(f"more than {MAX_CONTAINERS} objects and lists")
    try:
        value = _decode(raw.decode())
    except UnsafeJson:
        raise
    except RecursionError:
        raise UnsafeJson(f"nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise UnsafeJson("not valid UTF-8") from None
    except ValueError as wrong:
        raise UnsafeJson(f"not valid JSON: {wrong}") from None
    check(value)
    return value


def _count_containers(raw: bytes) -> int:
    """Counts before anything is built. Brackets in texts do not count, if it comes to that."""
    found = raw.count(b"{") + raw.count(b"[")
    if found <= MAX_CONTAINERS:
        return found
    bare = _STRING.sub(b"", raw)
    return bare.count(b"{") + bare.count(b"[")


def dump(value: Any) -> str:
    return _encode(value)


def clean_text(text: str, limit: int = 10_000) -> str:
    """Makes the text of an exception storable, so that it can always be written."""
    text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters in all)"


def _check_depth(depth: int, path: _Path) -> None:
    if depth > MAX_DEPTH:
        raise UnsafeJson(f"nested deeper than {MAX_DEPTH} levels", _format(path))


def _check_text(text: str, path: _Path) -> None:
    if "\x00" in text:
        raise UnsafeJson("contains the character \\u0000, which Postgres cannot store", _format(path))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnsafeJson("contains half of a surrogate pair, which is not text", _format(path)) from None


def _format(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    shown = "".join(reversed(steps)).removeprefix(".")
    return shown.replace("\x00", "?").encode("utf-8", "replace").decode()


def _refuse_constant(name: str) -> Any:
    raise UnsafeJson(f"{name} is not valid JSON")


# json.loads and json.dumps would make these anew for each text.
_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
