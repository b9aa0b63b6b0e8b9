"""A worker that a test moves by hand: it claims tasks, and ends them as the test says."""

from typing import Any

from pydantic import BaseModel

from state.database import Connection
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM, Claimer
from tests.support.observer import Observer


class NeedsText(BaseModel, extra="forbid"):
    text: str


class HandWorker:
    name = "w1"

    def __init__(self, worker_connection: Connection, connection: Observer) -> None:
        self.connection = worker_connection
        self._observer = connection
        self._claim = Claimer(worker_connection)
        self.held: dict[tuple[str | None, int | str], Claimed] = {}  # by step and branch; without a step, by id

    def take(self) -> list[str | None]:
        """Claims everything that may start. Returns the steps, sorted."""
        found = []
        for claimed in self._claim(2000, self.name, queues=["agents"]):
            row = self._observer.fetch_one("SELECT step, branch FROM callboard.tasks WHERE id = %s", [claimed.id])
            self.held[row["step"], claimed.id if row["step"] is None else row["branch"]] = claimed
            found.append(row["step"])
        return sorted(found, key=str)

    def make_end(
        self, step: str | None, branch: int | str = 0, *, result: Any = None, dies: bool = False
    ) -> Settlement:
        claimed = self.held.pop((step, branch))
        if dies:
            return Settlement(claimed.id, claimed.epoch, "failed", error=BOOM)
        return Settlement(claimed.id, claimed.epoch, "completed", result=result)

    def complete(self, step: str | None, result: Any = None, branch: int | str = 0) -> None:
        assert leases.settle(self.connection, self.name, [self.make_end(step, branch, result=result)])

    def die(self, step: str | None, branch: int | str = 0) -> None:
        assert leases.settle(self.connection, self.name, [self.make_end(step, branch, dies=True)])

    def run(self, step: str, result: Any = None) -> None:
        """Claims what there is and completes one step."""
        self.take()
        self.complete(step, result)
