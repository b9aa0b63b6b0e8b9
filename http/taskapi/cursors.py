"""Opaque cursors: where the next page of a list begins."""

import base64
from collections.abc import Callable

from taskapi.problems import at_field


def encode(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode(cursor: str, is_valid: Callable[[str], bool]) -> str:
    """Refuses a cursor that we did not make, or made for another list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        position = ""
    if not is_valid(position) or encode(position) != cursor:
        raise at_field("invalid-parameter", "cursor", "not a cursor of this list")
    return position
