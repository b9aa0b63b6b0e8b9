"""A worker of the previous release, worked by hand. Run by the code of that release, so written for it."""

from typing import Any

from pydantic import BaseModel

from state import Task, get_task, submit
from state.gates import Gate
from state.gates.waking import wake
from state.workers import leases
from state.workers.identity import Identity
from state.workers.leases import Claimed, ClaimRequest, Settlement

BOOM = {"type": "Boom", "message": "no luck", "category": "unknown", "details": {}, "traceback": None}
QUEUE = "verbs"


class Payload(BaseModel, extra="allow"):
    gates: dict[str, int] = {}


def gates_of(payload: Payload) -> list[Gate]:
    return [Gate(key, limit) for key, limit in payload.gates.items()]


def check(condition: object, what: str) -> None:
    if not condition:
        raise AssertionError(what)


class Desk:
    """A worker that works by hand. Uses names of its own, so that one round does not find tasks of another."""

    def __init__(self, number: int, desk: Any) -> None:
        self.number = number
        self.desk = desk
        self.me = Identity.of_this_process()
        self.claims = 0

    def name(self, word: str) -> str:
        return f"{word}-{self.number}"

    def status(self, task_id: str, *expected: str) -> Task:
        task = get_task(task_id)
        check(task.status in expected, f"{task_id} is {task.status}, expected {expected}")
        return task

    def claim(
        self, free: int = 1, worker: str | None = None, freed: list[str] | None = None, queue: str = QUEUE
    ) -> list[Claimed]:
        self.claims += 1
        request = ClaimRequest(
            worker=worker or self.me.id, claim_number=self.claims, thread_queues=[queue], coroutine_queues=[],
            threads=free, coroutines=0, ahead=0, short_actors=[], known_actors=None, retry_share=0.3,
        )  # fmt: skip
        answer = leases.claim(self.desk, request, freed or [])
        wake(answer.to_wake)
        return answer.tasks

    def claim_one(self, task_id: str, **options: Any) -> Claimed:
        for _ in range(200):
            for claimed in self.claim(1, **options):
                check(claimed.id == task_id, f"claimed {claimed.id}, expected {task_id}")
                return claimed
        raise AssertionError(f"{task_id} could not be claimed: {get_task(task_id)}")

    def claim_from(self, queue: str, *, wait: bool = True) -> Any:
        """Claims the next task of a queue; None if there is none, and none is waited for."""
        for _ in range(200 if wait else 1):
            for claimed in self.claim(1, queue=queue):
                return claimed
        check(not wait, f"nothing to claim in {queue}")
        return None

    def end(self, claimed: Claimed, outcome: Any = "completed", **options: Any) -> None:
        [row] = leases.settle(self.desk, self.me.id, [Settlement(claimed.id, claimed.epoch, outcome, **options)])
        wake(row["gates"])

    def owner(self, claimed: Claimed) -> tuple[str, str, int]:
        return self.me.id, claimed.id, claimed.epoch

    def kill(self, **options: Any) -> str:
        """Makes a dead letter."""
        task = submit("quick", {}, **options)
        self.end(self.claim_one(task.task_id), "failed", error=BOOM)
        self.status(task.task_id, "dead")
        return task.task_id
