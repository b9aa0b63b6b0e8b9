"""Requires a task that a worker has claimed to have passed certain gates. If it has not, it goes back to the queue with
these gates, and no attempt is burned."""

from collections.abc import Sequence
from contextlib import suppress

from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.interrupts import NotStarted
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks, notify_work
from state.errors import LeaseLost, NotReady
from state.gates import Gate
from state.gates.declarations import declare_unseen, find_undeclared
from state.gates.waking import wake
from state.logs import log, log_transitions
from state.workers import leases

_NO_ANSWER = (NotReady, *TRANSIENT)


def has_passed(execution: Execution, gates: Sequence[Gate]) -> bool:
    """Returns whether `require_gates` has nothing to do. Waits for nothing."""
    return all(gate.key in execution.claimed.gates for gate in gates) and not find_undeclared(gates)


def require_gates(execution: Execution, held: HeldTasks, gates: Sequence[Gate]) -> None:
    """Declares the gates. Raises NotStarted if the task has not passed all of them."""
    if not gates:
        return
    with execution.code.shield():
        with suppress(*_NO_ANSWER):  # the next task declares them
            declare_unseen(gates)
        missing = sorted({gate.key for gate in gates}.difference(execution.claimed.gates))
        if not missing:
            return
        try:
            _put_back(execution, held, gates, missing)
        except LeaseLost:
            held.lose(execution)
            raise
        except _NO_ANSWER as failure:
            raise NotStarted from failure


def _put_back(execution: Execution, held: HeldTasks, gates: Sequence[Gate], missing: list[str]) -> None:
    held.begin_own_end(execution)
    try:
        row = leases.regate(held.worker, *execution.key, gates)
    except LeaseLost:  # put back, and only the answer was lost; or the task belongs to another worker
        raise NotStarted from None
    except BaseException:
        held.cancel_own_end(execution)
        raise
    if row["moved"]:
        log.info("the actor names other gates: the task goes back to the queue", task_id=row["id"], missing=missing)
        log_transitions([row], worker=held.worker)
        notify_tasks([row["id"]])
        notify_work([row["queue"]])
        wake(row["gates_before"])
        raise NotStarted
    held.cancel_own_end(execution)
    if row["cancel_requested"] is not None:
        raise NotStarted
    log.warning(
        "the actor names other gates each time it is asked: the task runs without them",
        task_id=row["id"],
        actor=row["actor"],
        missing=missing,
    )
