"""Finding tasks by words. Tasks that fit the filters are found in indexes; whether they have the words is seen by
looking at each, newest first. So a search ends after a number of tasks, or after a time, and says how far it came."""

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.database import fetch, retrying
from state.tasks.ids import is_task_id
from state.tasks.reads import DEFAULT_LIMIT, ListedTask, make_filter

MOST = 5_000  # tasks that one search looks at
PATIENCE = 1.0  # seconds after which it looks at no more
_BATCH = 250

_WORD = re.compile(r'"([^"]*)"|(\S+)')

_fetch = retrying(fetch)


@dataclass(frozen=True, slots=True)
class Search:
    ids: list[str]  # of the tasks that were found, newest first
    searched: int  # tasks that were looked at
    until: datetime | None  # when the last one of these was created
    position: str | None  # its id, if there may be more after it


def split_words(text: str) -> list[str]:
    """Returns the words of a text; what is in double quotes is one word."""
    return [word for match in _WORD.finditer(text) if (word := (match[1] or match[2] or "").strip())]


def search_tasks(
    text: str, *, before: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM, **filters: str | None
) -> Search:
    """Finds tasks that fit the filters and have all words of the text. A word that is a whole id finds its task
    wherever it is."""
    return find_with_words(split_words(text), make_filter(filters, caller), before, limit)


def find_with_words(
    words: Collection[str], wanted: Mapping[str, Any], before: str | None, limit: int = DEFAULT_LIMIT
) -> Search:
    """As search_tasks. `wanted`: as newest_tasks takes it."""
    named = next((word.lower() for word in words if is_task_id(word.lower())), None)
    if named is None:
        return _look(words, wanted, before, limit, MOST)
    found = _look(words, wanted, min(before or named + "0", named + "0"), 1, 1)
    ids = [each for each in found.ids if each == named]
    return Search(ids, 1, found.until if ids else None, None)


def _look(words: Collection[str], wanted: Mapping[str, Any], before: str | None, limit: int, most: int) -> Search:
    ids: list[str] = []
    searched, until = 0, None
    deadline = time.monotonic() + PATIENCE
    parameters = {"wanted": jsonsafe.dump(wanted), "words": jsonsafe.dump(list(words))}
    while True:
        asked = min(_BATCH, most - searched)
        rows = _fetch("tasks_with_words", {**parameters, "before": before, "limit": asked})
        for row in rows:
            searched, before, until = searched + 1, row["id"], row["created_at"]
            if row["fits"]:
                ids.append(row["id"])
                if len(ids) == limit:
                    return Search(ids, searched, until, before)
        if len(rows) < asked:
            return Search(ids, searched, until, None)
        if searched == most or time.monotonic() > deadline:
            return Search(ids, searched, until, before)


@retrying
def get_listed_tasks(ids: Collection[str], *, caller: Caller = SYSTEM) -> list[ListedTask]:
    """Newest first; ids that do not exist are left out."""
    rows = fetch("listed_tasks", {"ids": list(ids), "scope": caller.tenant})
    return [ListedTask.from_row(row).as_seen_by(caller) for row in rows]
