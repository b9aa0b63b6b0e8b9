"""Pages of lists. An opaque cursor says where the next page begins. A page is bounded in items and in bytes."""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from taskapi.api.parameters import Count
from taskapi.api.problems import Problem

MAX_LIMIT = 500
MAX_BYTES = 8 * 1024 * 1024  # a page ends with the item that reaches this
CHUNK = 20  # items that are read at once where they may be large: the server holds these and one page

_Item = TypeVar("_Item")


class PageQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(100, ge=1, le=MAX_LIMIT, description="A page of large items has fewer: it ends at 8 MiB.")
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")

    def get_position(self, is_valid: Callable[[str], bool]) -> str | None:
        """Returns the position of the last item of the page before, or None for the first page."""
        return None if self.cursor is None else decode_cursor(self.cursor, is_valid)


class Page(BaseModel, Generic[_Item]):
    items: list[_Item]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Listing(Generic[_Item]):
    """How a list is read and shown. `read` returns up to so many items after a position; None: from the first one."""

    read: Callable[[str | None, int], Awaitable[Sequence[_Item]]]
    make_view: Callable[[_Item], BaseModel]
    get_position: Callable[[_Item], str]
    is_position: Callable[[str], bool]
    members: Mapping[str, Any] = field(default_factory=dict)  # further members of the page
    goes_on: str | None = None  # the position after which there may be more than `read` knows of
    chunk: int = CHUNK


async def send_page(query: PageQuery, listing: Listing[_Item]) -> Response:
    """Reads and sends a page. It is read in small chunks, as rows may have megabytes, until it has its items or its
    bytes. Each item is serialized once, in a thread: hundreds of tasks would block the event loop."""
    position = query.get_position(listing.is_position)
    texts: list[bytes] = []
    room, more = MAX_BYTES, True
    while more and room > 0 and len(texts) < query.limit:
        wanted = min(listing.chunk, query.limit - len(texts))
        found = await listing.read(position, wanted + 1)  # a further item shows that there is a next page
        read = await run_in_threadpool(_serialize, found[:wanted], listing.make_view)
        kept = _count_fitting(read, room)
        texts += read[:kept]
        room -= sum(map(len, read[:kept]))
        more = len(found) > kept
        if kept:
            position = listing.get_position(found[kept - 1])
    if not more and listing.goes_on is not None:
        position, more = listing.goes_on, True
    next_cursor = encode_cursor(position) if more and position is not None else None
    return Response(_join(texts, {"next_cursor": next_cursor, **listing.members}), media_type="application/json")


def _serialize(items: Sequence[_Item], make_view: Callable[[_Item], BaseModel]) -> list[bytes]:
    return [make_view(item).model_dump_json().encode() for item in items]


def _count_fitting(texts: Sequence[bytes], room: int) -> int:
    """Counts the texts up to the one that fills the room: a page has at least one item, however large."""
    for count, text in enumerate(texts, 1):
        room -= len(text)
        if room <= 0:
            return count
    return len(texts)


def _join(texts: Sequence[bytes], members: Mapping[str, Any]) -> bytes:
    return b'{"items":[' + b",".join(texts) + b"]," + to_json(members)[1:]


def encode_cursor(position: str) -> str:
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, is_valid: Callable[[str], bool], problem: str = "invalid-parameter") -> str:
    """Raises a problem if the cursor is not one of ours, or belongs to another list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        position = ""
    if not is_valid(position) or encode_cursor(position) != cursor:
        raise Problem.at_field(problem, "cursor", "not a cursor of this list")
    return position
