"""Pages of lists. An opaque cursor says where the next page begins."""

import base64
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from taskapi.api.parameters import Count
from taskapi.api.problems import Problem

MAX_LIMIT = 500

_Item = TypeVar("_Item")


class PageQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")

    @property
    def fetch_limit(self) -> int:
        """One more than the client asked for: a further item shows that there is a next page."""
        return self.limit + 1

    def get_position(self, is_valid: Callable[[str], bool]) -> str | None:
        """Returns the position of the last item of the page before, or None for the first page."""
        return None if self.cursor is None else _decode_cursor(self.cursor, is_valid)

    def cut(self, found: Sequence[_Item], get_position: Callable[[_Item], str]) -> tuple[Sequence[_Item], str | None]:
        """Returns the items of this page, and the cursor of the next page if there is one."""
        items = found[: self.limit]
        more = len(found) > len(items)
        return items, _encode_cursor(get_position(items[-1])) if more else None


class Page(BaseModel, Generic[_Item]):
    items: list[_Item]
    next_cursor: str | None = None


def _encode_cursor(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _decode_cursor(cursor: str, is_valid: Callable[[str], bool]) -> str:
    """Raises a problem if the cursor is not one of ours, or belongs to another list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        position = ""
    if not is_valid(position) or _encode_cursor(position) != cursor:
        raise Problem.at_field("invalid-parameter", "cursor", "not a cursor of this list")
    return position
