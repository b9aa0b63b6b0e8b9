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
from broker.execution.regating import has_passed, require_gates
from broker.task import TaskActor
from broker.worker import process
from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.gates import Gate
from state.gates.declarations import declare
from state.tasks import catalog

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
    """Asks the actor of a task that is about to start for its gates. Raises NotStarted if the task has not passed all
    of them."""

    def __init__(self, held: HeldTasks) -> None:
        self._held = held

    def is_needed(self, execution: Execution, request: Any) -> bool:
        return not has_passed(execution, catalog.get(execution.claimed.actor).ask_gates(request))

    def __call__(self, execution: Execution, request: Any) -> None:
        require_gates(execution, self._held, catalog.get(execution.claimed.actor).ask_gates(request))


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
