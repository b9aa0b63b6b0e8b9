"""Completes tasks of agents as a worker does, with any result."""

from typing import Any

from state import submit
from state.database import Connection
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import Claimer
from tests.support.observer import Observer


def submit_agent(text: str = "a few words", **options: Any) -> str:
    payload = {"agent_name": "text", "task_type": "statistics", "input": {"text": text}}
    return submit("agent", payload, **options).task_id


class AgentWorker:
    """A worker of the queue `agents`, without processes."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._claim = Claimer(connection)

    def claim(self, free: int = 1, queue: str = "agents") -> list[Claimed]:
        return self._claim(free, "w1", queues=(queue,))

    def settle(self, claimed: Claimed, outcome: Any = "completed", **end: Any) -> None:
        assert leases.settle(self.connection, "w1", [Settlement(claimed.id, claimed.epoch, outcome, **end)])

    def complete(self, text: str = "a few words", result: Any = None, **options: Any) -> str:
        """Submits a task of an agent and completes it. Returns the id of its event."""
        task_id = submit_agent(text, **options)
        [claimed] = self.claim()
        assert claimed.id == task_id
        self.settle(claimed, result=result)
        return str(read_event(self.connection, task_id)["id"])


def read_event(connection: Observer | Connection, task_id: str) -> dict[str, Any]:
    row = connection.execute("SELECT * FROM callboard.agent_events WHERE task_id = %s", [task_id]).fetchone()
    assert row is not None
    return dict(row)


def count_events(connection: Observer) -> int:
    """Counts the events, and makes sure that each has its job, and each job its event."""
    row = connection.fetch_one(
        "SELECT count(e.id) AS events, count(j.id) AS jobs, count(*) AS pairs FROM callboard.agent_events e "
        "FULL JOIN (SELECT * FROM callboard.tasks WHERE actor = 'embedding') j "
        "ON j.id = e.job_id AND j.payload = jsonb_build_object('event_id', e.id)"
    )
    assert row["events"] == row["jobs"] == row["pairs"]
    return int(row["events"])
