"""A worker that a test plays itself, step by step: it claims, begins runs, and settles."""

from typing import Any

from state.database import Connection
from state.projects.runs import RunItem, begin_run
from state.tasks.followers import announce_followers
from state.workers import leases
from state.workers.leases import Claimed, Report, Settlement
from tests.support.claims import BOOM, Claimer


class WorkerByHand:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._claim = Claimer(connection)

    def claim(self, worker: str = "w1") -> Claimed:
        [claimed] = self._claim(1, worker, queues=["agents"])
        return claimed

    def claim_none(self) -> bool:
        return self._claim(1, "w1", queues=["agents"]) == []

    def begin(self, claimed: Claimed, worker: str = "w1") -> RunItem | None:
        return begin_run(worker, claimed.id, claimed.epoch)

    def take(self) -> tuple[Claimed, RunItem | None]:
        claimed = self.claim()
        return claimed, self.begin(claimed)

    def use(self, claimed: Claimed, *, tokens: int, cost: float) -> None:
        leases.report(self._connection, "w1", [Report(claimed.id, claimed.epoch, 1, tokens=tokens, cost=cost)])

    def complete(self, claimed: Claimed, result: Any = None) -> str:
        return self.settle(Settlement(claimed.id, claimed.epoch, "completed", result={"result": result}))

    def fail(self, claimed: Claimed, retry_seconds: float | None = None) -> str:
        """Without `retry_seconds` the task is dead."""
        return self.settle(Settlement(claimed.id, claimed.epoch, "failed", error=BOOM, retry_seconds=retry_seconds))

    def release(self, claimed: Claimed) -> str:
        return self.settle(Settlement(claimed.id, claimed.epoch, "released"))

    def settle(self, end: Settlement, worker: str = "w1") -> str:
        """Returns the new status of the task."""
        [row] = leases.settle(self._connection, worker, [end])
        announce_followers([row])
        return str(row["status"])
