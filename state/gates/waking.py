"""Wakes tasks that wait at a gate, after a task has left it."""

from collections.abc import Iterable, Sequence

from state.database import Call, Connection, Row, fetch, fetch_each, retrying
from state.database.notifier import notify_tasks, notify_work

_MOST_AT_ONCE = 100  # gates in one round trip


@retrying
def wake(keys: Iterable[str]) -> set[str]:
    """Wakes the next tasks in the lines of these gates, after tasks have left the gates: after their commit, never in
    their transaction. One transaction for each gate. Returns the gates that were locked, to be woken again soon."""
    wanted = sorted(set(keys))
    if not wanted:
        return set()
    woken, locked = _wake_all(wanted)
    announce_woken(woken)
    return locked


@retrying
def sweep_lines(after: str = "", limit: int = 1000) -> tuple[list[Row], str]:
    """Wakes lines whose wake-up was lost, and those of gates that open by time: at the next `limit` gates that have a
    line, in the order of their keys. Returns the rows of the woken tasks and the key to go on after; "" is the
    beginning."""
    keys = [row["key"] for row in fetch("lines_after", {"after": after, "limit": limit})]
    woken, _ = _wake_all(keys)
    announce_woken(woken)
    return woken, keys[-1] if len(keys) == limit else ""


def _wake_all(keys: Sequence[str]) -> tuple[list[Row], set[str]]:
    woken: list[Row] = []
    locked: set[str] = set()
    for start in range(0, len(keys), _MOST_AT_ONCE):
        some_woken, some_locked = wake_on(None, keys[start : start + _MOST_AT_ONCE])
        woken += some_woken
        locked.update(some_locked)
    return woken, locked


def wake_on(connection: Connection | None, keys: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Returns the rows of the woken tasks, and the gates that were locked."""
    return read_woken(keys, fetch_each(make_wake_calls(keys), connection))


def make_wake_calls(keys: Iterable[str]) -> list[Call]:
    return [("wake_gate", {"gate": key}) for key in keys]


def read_woken(keys: Sequence[str], answers: Sequence[list[Row]]) -> tuple[list[Row], list[str]]:
    woken = [row for answer in answers for row in answer if not row["busy"]]
    locked = [key for key, answer in zip(keys, answers, strict=True) if any(row["busy"] for row in answer)]
    return woken, locked


def announce_woken(woken: Sequence[Row]) -> None:
    if woken:
        notify_work({row["queue"] for row in woken})
        notify_tasks(row["id"] for row in woken)
