"""Conversion of results and event data into JSON that the database can store."""

from typing import Any, ClassVar

from pydantic_core import to_jsonable_python

from state import jsonsafe

MAX_RESULT_BYTES = 32 * 1024 * 1024
MAX_EVENT_BYTES = 1024 * 1024


class ResultNotJson(Exception):
    """The actor returned a value that cannot be stored. Another attempt would return the same."""

    category: ClassVar[str] = "permanent"


def to_result_json(value: Any) -> Any:
    """Returns the result as JSON; raises ResultNotJson with the reason if that is not possible."""
    try:
        result = to_jsonable_python(value)
        jsonsafe.check(result)
        size = len(jsonsafe.dump(result))
    except Exception as unfit:  # code of the value itself may raise anything
        raise ResultNotJson(f"The result cannot be kept as JSON: {unfit}") from unfit
    if size > MAX_RESULT_BYTES:
        raise ResultNotJson(f"The result is too large: {size} bytes; at most {MAX_RESULT_BYTES} are kept.")
    return result


def to_event_data(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the data of an event. Events are for people to read, so what cannot be stored is replaced."""
    clean: dict[str, Any] = readable(data)
    if len(jsonsafe.dump(clean)) > MAX_EVENT_BYTES:
        raise ValueError(f"an event holds at most {MAX_EVENT_BYTES} bytes; use the result or a content for more")
    return clean


def readable(data: Any) -> Any:
    """Returns the data as JSON: objects become their text, and characters that cannot be stored are replaced."""
    return _cleaned(to_jsonable_python(data, fallback=repr, inf_nan_mode="null"), 1)


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return jsonsafe.clean_text(value, limit=MAX_EVENT_BYTES)
    if depth > jsonsafe.MAX_DEPTH:
        raise jsonsafe.UnsafeJson(f"nested deeper than {jsonsafe.MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {jsonsafe.clean_text(str(key)): _cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    return value
