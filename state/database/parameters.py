"""Parameters of statements, and the text in which Postgres takes them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from psycopg import DataError

Element = str | float | None
Value = str | float | datetime | Sequence[Element]
Parameters = Mapping[str, Value | None]  # JSON is given as its text

_NUMBERS = (int, float)
_MOST_CACHED = 50  # elements of an array


def encode(value: Value) -> bytes:
    """Returns the text of a value. Its type must follow from the statement."""
    if isinstance(value, str):
        return _require_no_nul(value.encode())
    if isinstance(value, _NUMBERS):
        return b"%r" % value
    if isinstance(value, datetime):
        return value.isoformat().encode()
    elements = tuple(value)
    # Only texts are cached: (1,), (1.0,) and (True,) are equal, and each would get the text of the first one.
    is_short = len(elements) <= _MOST_CACHED and all(isinstance(element, str) for element in elements)
    return _encode_short_array(elements) if is_short else _encode_array(elements)


def _encode_array(elements: tuple[Element, ...]) -> bytes:
    return _require_no_nul(("{" + ",".join(map(_quote, elements)) + "}").encode())


_encode_short_array = lru_cache(maxsize=1000)(_encode_array)  # the names of queues and gates repeat


def _quote(element: Element) -> str:
    if isinstance(element, str):
        return '"' + element.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if element is None else str(element)


def _require_no_nul(text: bytes) -> bytes:
    """libpq would silently cut the text at the first NUL."""
    if b"\0" in text:
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return text
