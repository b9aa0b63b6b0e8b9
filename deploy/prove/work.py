"""The work of people during a run: they submit tasks, stop and resume them, change gates."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from deploy.prove.faults import EXPECTED
from deploy.prove.journal import Journal, now
from deploy.prove.readers import Readers
from deploy.prove.requests import Requests
from deploy.prove.waiting import wait_until
from state import NewTask, cancel, pause, redrive, resume, retry, submit_many
from state.gates.operations import put_gate
from state.gates.reads import get_gate, list_gates
from state.proof.reads import list_candidates, list_unfinished

_PATIENCE = 180.0


class Work:
    def __init__(self, faults: Journal, requests: Requests, readers: Readers, webhook_url: str) -> None:
        self.accepted: list[str] = []
        self.canceled: set[str] = set()
        self._faults = faults
        self._requests = requests
        self._readers = readers
        self._webhook_url = webhook_url
        self._changing_limits = threading.Lock()

    # Tasks. Each is a dict of the fields of NewTask, which are those of the route as well.

    def submit(self, tasks: Sequence[dict[str, Any]]) -> None:
        self.accepted += submit_many([NewTask(**task) for task in tasks])

    def submit_http(
        self, task: dict[str, Any], events: Sequence[str] | None = None, followed: bool = False, snapshot: bool = False
    ) -> None:
        """`events`: those that a webhook is to get. `followed`: a reader follows the task."""
        body = {**task, "webhook_url": self._webhook_url, "webhook_events": events} if events else task
        task_id = self._requests.submit(body)
        self.accepted.append(task_id)
        if followed:
            self._readers.follow(task_id, snapshot=snapshot)

    def _pick(self, pick: float, status: str) -> str | None:
        found = list_candidates(status)
        return found[int(pick * len(found))] if found else None

    def cancel(self, pick: float, status: str, *, force: bool = False) -> bool:
        if task := self._pick(pick, status):
            self.canceled.add(task)
            cancel(task, force=force)
        return task is not None

    def force(self, pick: float, status: str) -> bool:
        return self.cancel(pick, status, force=True)

    def cancel_race(self, pick: float, status: str) -> bool:
        """Several people at once, who want different things."""
        task = self._pick(pick, status)
        if task is None:
            return False
        self.canceled.add(task)
        verbs: list[Callable[[str], Any]] = [cancel, pause, cancel, resume, partial(cancel, force=True)]
        with ThreadPoolExecutor(len(verbs)) as people:
            for verb in verbs:
                people.submit(_try, partial(verb, task))
        return True

    def pause(self, pick: float, status: str) -> bool:
        if task := self._pick(pick, status):
            pause(task)
        return task is not None

    def resume(self, pick: float) -> bool:
        if task := self._pick(pick, "paused"):
            resume(task)
        return task is not None

    def redrive(self) -> bool:
        if found := list_unfinished().get("dead"):
            redrive(all=True)
        return bool(found)

    # Gates.

    def set_limit(self, key: str, value: int | None) -> None:
        """Whatever becomes of the change (the row may be locked, the database away): what holds then is read back."""
        with self._changing_limits:
            before = now()
            try:
                put_gate(key, max_concurrent=value)
            finally:
                wait_until(lambda: self._note_limit(key, before), _PATIENCE, f"the limit of {key} is read", every=0.2)

    def _note_limit(self, key: str, before: float) -> bool:
        try:
            holds = get_gate(key)["max_concurrent"]
        except EXPECTED:
            return False
        self._faults.write("limit", gate=key, value=holds, before=before, after=now())
        return True

    def note_limits(self, known: Iterable[str]) -> None:
        """Those of all other gates, which nobody has changed."""
        for gate in list_gates(limit=10_000):
            if gate["key"] not in known and gate["has_settings"]:
                self._faults.write("limit", gate=gate["key"], value=gate["max_concurrent"], before=0, after=0)

    def pause_gate(self, key: str, seconds: float) -> None:
        put_gate(key, paused=True)
        time.sleep(seconds)
        put_gate(key, paused=False)

    # The end.

    def open_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            wait_until(partial(self._opened, key), _PATIENCE, f"{key} is open", every=0.5)

    def _opened(self, key: str) -> bool:
        try:
            put_gate(key, paused=False)
            self.set_limit(key, 4)
        except EXPECTED:
            return False
        return True

    def unfinished(self) -> dict[str, int]:
        """Counts unfinished tasks by status. Resumes paused tasks, starts those that wait for another try, revives dead
        ones, and lets the others go on."""
        found = list_unfinished()
        for task in found.get("paused", ()):
            _try(partial(resume, task))
        for task in found.get("scheduled", ()):
            _try(partial(retry, task))
        self.treat_dead(found.get("dead", []))
        return {status: len(ids) for status, ids in found.items() if status not in self.ended}

    ended: frozenset[str] = frozenset()  # statuses that need nobody's help

    def treat_dead(self, tasks: list[str]) -> None:
        if tasks:
            redrive(all=True)


def _try(verb: Callable[[], Any]) -> None:
    with suppress(*EXPECTED):
        verb()
