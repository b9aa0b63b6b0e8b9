"""Wakes tasks that wait at a gate, after a task has left it."""

from collections.abc import Iterable, Sequence

from state.database.connection import Connection, Parameters, Row
from state.database.notifier import notify_tasks, notify_work
from state.database.pool import fetch_often, pooled, retrying

_PIPELINED = 100  # gates woken in one round trip


@retrying
def wake(keys: Iterable[str]) -> set[str]:
    """Something has left these gates: the next of their lines may go. After the commit of what left, never in it. One
    transaction for each gate; answers those that somebody held at this moment, to be woken again soon."""
    wanted = sorted(set(keys))
    if not wanted:
        return set()
    woken, busy = _wake_all(wanted)
    announce_woken(woken)
    return busy


@retrying
def sweep_lines(after: str = "", limit: int = 1000) -> tuple[list[Row], str]:
    """Repairs wake-ups that were lost, and opens gates whose time has come: at the next `limit` gates that have a line,
    in the order of their keys. Answers what was woken and where to go on; "" is the beginning."""
    keys = [row["key"] for row in fetch_often("lines_after", {"after": after, "limit": limit})]
    woken, _ = _wake_all(keys)
    announce_woken(woken)
    return woken, keys[-1] if len(keys) == limit else ""


def _wake_all(keys: Sequence[str]) -> tuple[list[Row], set[str]]:
    woken: list[Row] = []
    busy: set[str] = set()
    with pooled() as own:
        for start in range(0, len(keys), _PIPELINED):
            part = keys[start : start + _PIPELINED]
            part_woken, part_busy = wake_on(own, part)
            woken += part_woken
            busy.update(part_busy)
    return woken, busy


def wake_on(connection: Connection, keys: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Returns what was woken, and the gates that somebody held at this moment."""
    return read_woken(keys, connection.pipeline(wake_calls(keys)))


def wake_calls(keys: Iterable[str]) -> list[tuple[str, Parameters]]:
    return [("wake_gate", {"gate": key}) for key in keys]


def read_woken(keys: Sequence[str], answers: Sequence[list[Row]]) -> tuple[list[Row], list[str]]:
    woken = [row for answer in answers for row in answer if not row["busy"]]
    busy = [key for key, answer in zip(keys, answers, strict=True) if any(row["busy"] for row in answer)]
    return woken, busy


def announce_woken(woken: Sequence[Row]) -> None:
    if woken:
        notify_work({row["queue"] for row in woken})
        notify_tasks(row["id"] for row in woken)
