"""Registers each actor with its concurrency keys: the gates that its tasks must pass.

An actor's key function (`gates=` of `@task`) is registered in the catalog when the actor is declared, and asked
through the catalog: at submit, and here, before the code of a task starts. The second time is for tasks that were
queued before a deploy changed the answer: a task whose actor names gates that the task has not passed goes back to the
queue with these gates, and no attempt is burned."""

import threading
import time
from contextlib import suppress
from typing import Any

from dramatiq import Worker
from dramatiq.middleware import Middleware

from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.interrupts import NotStarted
from broker.task import TaskActor
from broker.worker import process
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks, notify_work
from state.errors import LeaseLost, NotReady
from state.gates import Gate
from state.gates.declarations import declare, declare_unseen
from state.gates.waking import wake
from state.logs import log, log_transitions
from state.tasks import catalog
from state.workers import leases

_NO_ANSWER = (NotReady, *TRANSIENT)
_DECLARE_AGAIN = 0.5  # seconds


class ConcurrencyKeys(Middleware):
    def after_declare_actor(self, broker: Any, actor: Any) -> None:
        if isinstance(actor, TaskActor):
            catalog.register(actor.spec)

    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        current = process.get_current()
        current.on_open.append(_declare_known_gates)
        current.held.start_checks.append(GateCheck(current.held))


class GateCheck:
    """Asks the actor of a task that is about to start for its gates, and declares those. Raises NotStarted if the task
    has not passed all of them."""

    def __init__(self, held: HeldTasks) -> None:
        self._held = held

    def __call__(self, execution: Execution, request: Any) -> None:
        gates = catalog.get(execution.claimed.actor).ask_gates(request)
        if not gates:
            return
        with execution.code.shield():
            with suppress(*_NO_ANSWER):  # the next task declares them
                declare_unseen(gates)
            try:
                self._require_passed(execution, gates)
            except LeaseLost:
                self._held.lose(execution)
                raise
            except _NO_ANSWER as failure:
                raise NotStarted from failure

    def _require_passed(self, execution: Execution, gates: list[Gate]) -> None:
        missing = sorted({gate.key for gate in gates}.difference(execution.claimed.gates))
        if missing:
            self._put_back(execution, gates, missing)

    def _put_back(self, execution: Execution, gates: list[Gate], missing: list[str]) -> None:
        self._held.begin_own_end(execution)
        try:
            row = leases.regate(self._held.worker, *execution.key, gates)
        except LeaseLost:  # put back, and only the answer was lost; or the task belongs to another worker
            raise NotStarted from None
        except BaseException:
            self._held.cancel_own_end(execution)
            raise
        if row["moved"]:
            log.info("the actor names other gates: the task goes back to the queue", task_id=row["id"], missing=missing)
            log_transitions([row], worker=self._held.worker)
            notify_tasks([row["id"]])
            notify_work([row["queue"]])
            wake(row["gates_before"])
            raise NotStarted
        self._held.cancel_own_end(execution)
        if row["cancel_requested"] is not None:
            raise NotStarted
        log.warning(
            "the actor names other gates each time it is asked: the task runs without them",
            task_id=row["id"],
            actor=row["actor"],
            missing=missing,
        )


def _declare_known_gates() -> None:
    """A gate that another transaction has locked is declared later: a worker does not wait for it."""
    locked = declare(gate for spec in catalog.list_actors() if spec.known_gates for gate in spec.known_gates())
    if locked:
        threading.Thread(target=_declare_later, args=(locked,), name="gates", daemon=True).start()


def _declare_later(gates: list[Gate]) -> None:
    while gates:
        time.sleep(_DECLARE_AGAIN)
        with suppress(*_NO_ANSWER):
            gates = declare(gates)
