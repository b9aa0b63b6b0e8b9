"""Parts of lists that are as long as the user has asked for, whatever the pages of the server are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deploy.cli.exits import BAD_INPUT, Failure

if TYPE_CHECKING:
    from taskclient import Client

_LARGEST = 500  # items of one request


@dataclass(frozen=True, slots=True)
class Fetched:
    items: list[dict[str, Any]]
    next_cursor: str | None
    searched: dict[str, Any] | None = None  # how far a search for a text has come


def fetch(client: "Client", path: str, *, limit: int, cursor: str | None = None, **filters: Any) -> Fetched:
    items: list[dict[str, Any]] = []
    while True:
        params = {**filters, "limit": min(limit - len(items), _LARGEST), "cursor": cursor}
        page = _request(client, path, params)
        items += page["items"]
        cursor = page["next_cursor"]
        searched = page.get("searched")
        if cursor is None or len(items) >= limit or searched:  # a search may find nothing for long
            return Fetched(items, cursor, searched)


def _request(client: "Client", path: str, params: dict[str, Any]) -> dict[str, Any]:
    from taskclient import InvalidRequest

    try:
        page: dict[str, Any] = client.request("GET", path, params=params)
    except InvalidRequest as refused:
        if refused.field != "cursor":
            raise
        raise Failure(BAD_INPUT, f"--before: {params['cursor']!r} is not the end of a page.") from None
    return page
