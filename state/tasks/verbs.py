"""Running verbs that are safe to repeat: after a lost connection it is unknown whether the first try was committed."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.database import Parameters, Row, fetch, retrying, transaction
from state.database.errors import kind_of

Evidence = dict[str, Any]  # a part of the data of the event that a verb writes: shows that the verb has been done

_TRANSIT = 1.0  # seconds that a statement may need to reach Postgres, whose clock decides what "since the call" means


def run_verb(
    ids: Sequence[str],
    evidence: Sequence[Evidence],
    act: Callable[[list[str]], list[Row]],
    *,
    caller: Caller = SYSTEM,
) -> list[Row]:
    """Runs a verb's statement (`act`) for these tasks, repeats it if necessary, and returns its rows.

    After a lost connection, first looks for tasks whose history since the call has one of the events in `evidence`: for
    those it returns the row that the lost try would have returned. Without evidence, a task that is hidden counts."""
    began = time.monotonic()
    in_doubt = False

    def find_done(left: list[str]) -> list[Row]:
        if not left:
            return []
        texts = [jsonsafe.dump(each) for each in evidence]
        with transaction() as own:  # getting a connection may take a while, and counts
            within = time.monotonic() - began + _TRANSIT
            parameters: Parameters = {"ids": left, "evidence": texts, "within": within, "scope": caller.tenant}
            return fetch("verb_done", parameters, own)

    @retrying
    def attempt() -> list[Row]:
        nonlocal in_doubt
        rows = find_done(list(ids)) if in_doubt else []
        try:
            if left := _find_left(ids, rows):
                rows += act(left)
        except Exception as failure:
            in_doubt = in_doubt or kind_of(failure) == "reconnect"
            raise
        if in_doubt:  # the lost try may have been under way at the first look
            rows += find_done(_find_left(ids, rows))
        return rows

    return attempt()


def _find_left(ids: Sequence[str], rows: list[Row]) -> list[str]:
    answered = {row["id"] for row in rows}
    return [each for each in ids if each not in answered]
