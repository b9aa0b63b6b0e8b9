"""Verbs that are safe to repeat: after a lost connection nobody knows whether the first try has been committed."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from state.database.connection import Row
from state.database.errors import kind_of
from state.database.pool import fetch, pooled, retrying

Sign = dict[str, Any]  # what a verb writes into the history, as part of an event's data

_TRANSIT = 1.0  # seconds that a question may take to reach Postgres, whose clock says what "since the call" means


def perform(ids: Sequence[str], signs: Sequence[Sign], act: Callable[[list[str]], list[Row]]) -> list[Row]:
    """Runs a verb's statement for these tasks, again if it must, and returns its rows. A repetition after a lost
    connection first looks whether the verb has been done since the call: such a task is answered as the lost try would
    have answered it. Without signs, being hidden is what shows it."""
    began = time.monotonic()
    in_doubt = False

    def find_done(left: list[str]) -> list[Row]:
        if not left:
            return []
        shown = [Jsonb(sign) for sign in signs]
        with pooled() as own:  # which may take a while
            within = time.monotonic() - began + _TRANSIT
            return fetch("verb_done", {"ids": left, "signs": shown, "within": within}, own)

    @retrying
    def attempt() -> list[Row]:
        nonlocal in_doubt
        rows = find_done(list(ids)) if in_doubt else []
        try:
            if left := _without(ids, rows):
                rows += act(left)
        except Exception as failure:
            in_doubt = in_doubt or kind_of(failure) == "reconnect"
            raise
        if in_doubt:  # the lost try may have been under way when we looked first
            rows += find_done(_without(ids, rows))
        return rows

    return attempt()


def _without(ids: Sequence[str], rows: list[Row]) -> list[str]:
    answered = {row["id"] for row in rows}
    return [each for each in ids if each not in answered]
