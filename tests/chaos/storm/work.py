"""The work of a storm: tasks that write journals, some of them submitted late, workflows and projects."""

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from deploy.prove.journal import Journal
from deploy.prove.readers import Readers
from deploy.prove.requests import Requests
from deploy.prove.work import Work
from state import NewTask, submit, submit_many
from state.gates import Gate
from state.gates.declarations import declare
from tests.chaos.storm.schedule import LIMITS
from tests.chaos.storm.structures import Structures


class StormWork(Work):
    def __init__(
        self, faults: Journal, requests: Requests, readers: Readers, webhook_url: str, url: str, journal: Path
    ) -> None:
        super().__init__(faults, requests, readers, webhook_url)
        self.structures = Structures(url, journal)
        self._url = url
        self._tasks_journal = str(journal)
        self._marks = count(1)

    def declare_gates(self) -> None:
        declare([Gate(key, limit) for key, limit in LIMITS.items()])
        for key, limit in LIMITS.items():
            self._faults.write("limit", gate=key, value=limit, before=0, after=0)

    def _describe(self, task: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields of NewTask."""
        details = {name: value for name, value in task.items() if name != "actor"}
        payload = {**details, "journal": self._tasks_journal, "mark": str(next(self._marks))}
        return {"actor": task["actor"], "payload": payload, "target": task["target"]}

    def submit(self, tasks: Sequence[dict[str, Any]]) -> None:
        super().submit([self._describe(task) for task in tasks])

    def submit_http(
        self, task: dict[str, Any], events: Sequence[str] | None = None, followed: bool = False, snapshot: bool = False
    ) -> None:
        super().submit_http(self._describe(task), events, followed, snapshot)

    def submit_late(self, tasks: Sequence[dict[str, Any]], seconds: float) -> None:
        """The first one is submitted before the others, and committed some time after them."""
        first, *others = [NewTask(**self._describe(task)) for task in tasks]
        with psycopg.connect(self._url) as caller:
            late = submit(first.actor, first.payload, target=first.target, conn=caller).task_id
            self.accepted += submit_many(others)
            time.sleep(seconds)
            caller.commit()
            self.accepted.append(late)

    def unfinished(self) -> dict[str, int]:
        return {**super().unfinished(), **self.structures.go_on()}
