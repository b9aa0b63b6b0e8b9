"""The work of people during a storm: they submit tasks, stop and resume them, change gates."""

import threading
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from state import NewTask, cancel, pause, redrive, resume, submit, submit_many
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from tests.chaos.storm.cluster import EXPECTED
from tests.chaos.storm.schedule import LIMITS
from tests.chaos.storm.structures import Structures
from tests.support.eventually import eventually
from tests.support.journal import Journal, now


class Work:
    def __init__(self, url: str, journal: Path, faults: Journal) -> None:
        self.accepted: list[str] = []
        self.canceled: set[str] = set()
        self.structures = Structures(url, journal)
        self._url = url
        self._tasks_journal = journal
        self._faults = faults
        self._changing_limits = threading.Lock()

    def declare_gates(self) -> None:
        declare([Gate(key, limit) for key, limit in LIMITS.items()])
        for key, limit in LIMITS.items():
            self._faults.write("limit", gate=key, value=limit, before=0, after=0)

    # Tasks.

    def _new(self, task: dict[str, Any]) -> NewTask:
        payload = {name: task[name] for name in ("seconds", "gates", "target")}
        return NewTask(task["actor"], {**payload, "journal": str(self._tasks_journal)}, target=task["target"])

    def submit(self, tasks: Sequence[dict[str, Any]]) -> None:
        self.accepted += submit_many([self._new(task) for task in tasks])

    def submit_late(self, tasks: Sequence[dict[str, Any]], seconds: float) -> None:
        """The first one is submitted before the others, and committed some time after them."""
        first, *others = [self._new(task) for task in tasks]
        with psycopg.connect(self._url) as caller:
            late = submit(first.actor, first.payload, target=first.target, conn=caller).task_id
            self.accepted += submit_many(others)
            time.sleep(seconds)
            caller.commit()
            self.accepted.append(late)

    def _pick(self, pick: float, status: str) -> str | None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT id FROM callboard.tasks WHERE status = %s ORDER BY id", [status]
            ).fetchall()
        return str(rows[int(pick * len(rows))][0]) if rows else None

    def cancel(self, pick: float, status: str, *, force: bool = False) -> None:
        if task := self._pick(pick, status):
            self.canceled.add(task)
            cancel(task, force=force)

    def force(self, pick: float, status: str) -> None:
        self.cancel(pick, status, force=True)

    def pause(self, pick: float, status: str) -> None:
        if task := self._pick(pick, status):
            pause(task)

    def resume(self, pick: float) -> None:
        if task := self._pick(pick, "paused"):
            resume(task)

    # Gates.

    def set_limit(self, key: str, value: int | None) -> None:
        """Whatever becomes of the change (the row may be locked, the database away): what holds then is read back."""
        with self._changing_limits:
            before = now()
            try:
                put_gate(key, max_concurrent=value)
            finally:
                eventually(lambda: self._note_limit(key, before), timeout=60, every=0.2)

    def _note_limit(self, key: str, before: float) -> bool:
        try:
            holds = get_gate(key)["max_concurrent"]
        except EXPECTED:
            return False
        self._faults.write("limit", gate=key, value=holds, before=before, after=now())
        return True

    def pause_gate(self, key: str, seconds: float) -> None:
        put_gate(key, paused=True)
        time.sleep(seconds)
        put_gate(key, paused=False)

    # The end.

    def open_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            eventually(partial(self._opened, key), timeout=60, every=0.5, what=f"{key} opened")

    def _opened(self, key: str) -> bool:
        try:
            put_gate(key, paused=False)
            self.set_limit(key, 4)
        except EXPECTED:
            return False
        return True

    def unfinished(self) -> dict[str, int]:
        """Counts unfinished tasks by status, and unfinished workflows and projects. Resumes paused tasks, revives dead
        ones, and lets the others go on."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT status, array_agg(id) FROM callboard.tasks "
                "WHERE status NOT IN ('completed', 'canceled') GROUP BY status"
            ).fetchall()
        found: dict[str, list[str]] = dict(rows)
        for task in found.get("paused", ()):
            resume(task)
        if "dead" in found:
            redrive(all=True)
        return {**{status: len(ids) for status, ids in found.items()}, **self.structures.go_on()}
