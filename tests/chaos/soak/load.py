"""The work of a soak: tasks of all kinds over HTTP, some of them canceled, workflows, projects, a reader of events."""

import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from state.errors import StateError
from state.gates.operations import put_gate
from state.projects.items import NewItem, add_items, create_project
from state.projects.queue import start_run
from state.workflows import Step, Workflow, create_workflow
from taskclient import CallboardError, Client

_KINDS = ["journal_quick", "journal_slow", "journal_async", "journal_calls", "journal_block"]
_GATES: list[dict[str, int | None]] = [{}, {}, {"soak:two": 2}, {"soak:three": 3}]
_EVERY = 30.0  # seconds between two workflows and projects


class Load:
    def __init__(self, url: str, journal: Path, rate: float, seed: int) -> None:
        self.accepted: list[str] = []
        self.canceled: set[str] = set()
        self.refused = 0
        self._url, self._journal, self._rate = url, str(journal), rate
        self._dice = random.Random(seed)
        self._lags: list[float] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        parts = (self._submit, self._start_structures, self._follow)
        self._threads = [threading.Thread(target=self._repeat, args=(part,), daemon=True) for part in parts]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(120)

    def take_lags(self) -> list[float]:
        with self._lock:
            lags, self._lags = self._lags, []
        return lags

    def _repeat(self, part: Any) -> None:
        with Client(self._url, patience=60) as client:
            while not self._stopping.is_set():
                try:
                    part(client)
                except (CallboardError, StateError):  # in the middle of a fault
                    self.refused += 1
                    self._stopping.wait(1)

    def _new(self) -> dict[str, Any]:
        work = {"seconds": round(self._dice.uniform(0, 0.6), 2), "gates": self._dice.choice(_GATES)}
        tenant = {"tenant": f"t{self._dice.randrange(3)}"} if self._dice.random() < 0.3 else {}
        return {"actor": self._dice.choice(_KINDS), "payload": {**work, "journal": self._journal}, **tenant}

    def _submit(self, client: Client) -> None:
        number = self._dice.choice([1, 2, 5])
        for outcome in client.submit_many([self._new() for _ in range(number)]):
            assert outcome.task_id is not None, outcome
            self.accepted.append(outcome.task_id)
        if self._dice.random() < 0.1:
            chosen = self._dice.choice(self.accepted[-20:])
            self.canceled.add(chosen)
            with suppress(CallboardError):  # it has ended already
                client.cancel(chosen)
        if self._dice.random() < 0.05:
            put_gate("soak:two", max_concurrent=self._dice.choice([1, 2, 3]))
        self._stopping.wait(number / self._rate)

    def _start_structures(self, _: Client) -> None:
        work = {"journal": self._journal, "seconds": 0.1, "gates": {}}

        def step(key: str, *after: str) -> Step:
            return Step(key=key, agent_name="journal", task_type="work", input=work, after=list(after), max_attempts=50)

        create_workflow(Workflow(name="soak", steps=[step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")]))
        project = create_project("soak").project_id
        add_items(project, [NewItem(str(number), "journal", "work", work) for number in range(3)])
        start_run(project, "loop")
        self._stopping.wait(_EVERY)

    def _follow(self, client: Client) -> None:
        """One task after the other, from now on. The machine has one clock, so the lag of an event can be seen."""
        payload = {"journal": self._journal, "seconds": 3}
        followed = client.submit("journal_calls", payload).task_id
        self.accepted.append(followed)
        for event in client.stream(followed):
            if event.kind not in ("snapshot", "done") and event.at is not None:
                with self._lock:
                    self._lags.append(time.time() - event.at.timestamp())
