"""Examples of bodies for the OpenAPI document: `examples.json` has one for each model, from a real server."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from taskapi.api.paging import Page

_FILE = Path(__file__).with_name("examples.json")


def find_example(model: type[BaseModel]) -> Any | None:
    """Returns the example of a model; of a plain page, one of its items."""
    if (own := _read().get(model.__name__)) is not None:
        return own
    page = next((base for base in model.__mro__ if _get_generic(base).get("origin") is Page), None)
    if page is None:
        return None
    [item] = _get_generic(page)["args"]
    example = find_example(item)
    return None if example is None else {"items": [example], "next_cursor": None}


def _get_generic(base: type) -> dict[str, Any]:
    return getattr(base, "__pydantic_generic_metadata__", {})


@cache
def _read() -> dict[str, Any]:
    examples: dict[str, Any] = json.loads(_FILE.read_text())
    return examples
