"""Tracebacks are for operators: they show the code, and what it was doing. Others get null in their place."""

from typing import Any, overload


@overload
def hide_traceback(error: dict[str, Any]) -> dict[str, Any]: ...
@overload
def hide_traceback(error: dict[str, Any] | None) -> dict[str, Any] | None: ...
def hide_traceback(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns the error without its traceback; the same object if it has none."""
    return {**error, "traceback": None} if error and error.get("traceback") is not None else error


def hide_traceback_in(data: dict[str, Any]) -> dict[str, Any]:
    """Likewise for a row, or the data of an event, that may have an `error`."""
    error = data.get("error")
    hidden = hide_traceback(error) if isinstance(error, dict) else error
    return data if hidden is error else {**data, "error": hidden}
