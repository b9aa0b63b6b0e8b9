"""Runs one claimed task in the thread that Dramatiq gave for it. Lets nothing escape: Dramatiq must not retry what the
state store retries."""

import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from broker.context import Context
from broker.execution import outcomes
from broker.execution.coroutines import run_coroutine
from broker.execution.execution import Execution
from broker.execution.failures import TokenLimitExceeded, describe
from broker.execution.held import get_held_tasks
from broker.execution.interrupts import Interrupt, Stopped, TimeLimitExceeded, caused_by
from broker.execution.storable import ResultNotJson, result_json
from state.database.errors import TRANSIENT
from state.gates.declarations import declare_unseen
from state.settings import get_settings
from state.tasks import catalog
from state.tasks.catalog import ActorSpec
from state.workers.leases import Settlement

Work = Callable[[Context, Any], Any]


def run_task(spec: ActorSpec, function: Work, task_id: str, epoch: int) -> None:
    held = get_held_tasks()
    execution = held.start(task_id, epoch, spec.time_limit)
    if execution is None:
        return
    begun = time.perf_counter()
    context = Context(execution, held)
    value, exception = _run(spec, function, execution, context)
    # No interrupt can strike from here on.
    context.close()
    held.durations.note(spec.name, time.perf_counter() - begun)
    try:
        end = _end(execution, context, value, exception)
    except Exception as unexpected:  # whatever it is, the task must not stay with us for ever
        end = outcomes.failed(execution.claimed, unexpected)
    held.end(execution, end)


def _run(spec: ActorSpec, function: Work, execution: Execution, context: Context) -> tuple[Any, BaseException | None]:
    """What the code returned, or what it raised."""
    returned: list[Any] = []
    exception: BaseException | None = None
    try:
        try:
            execution.enter_code()
            request = spec.request.model_validate(execution.claimed.payload)
            _declare_gates(spec, request, execution)
            value = function(context, request)
            returned.append(run_coroutine(execution, value) if inspect.isawaitable(value) else value)
        except BaseException as raised:
            exception = raised
        execution.code.end()
    except Interrupt as late:  # it struck between the code's end and ours
        execution.code.end()
        exception = exception or (None if returned else late)
    return (returned or [None])[0], exception


def _declare_gates(spec: ActorSpec, request: Any, execution: Execution) -> None:
    """The breaker and the rate of a gate that the actor names only in its answer to a payload."""
    if spec.gates is not None:
        gates = list(spec.gates(request))
        with execution.code.shield(), suppress(*TRANSIENT):  # the next task declares them
            declare_unseen(gates)


def _end(execution: Execution, context: Context, value: Any, exception: BaseException | None) -> Settlement:
    claimed = execution.claimed
    if execution.state != "running":  # lost, or ended by its own transaction: nothing of this is written
        if exception is not None and execution.state == "ending":
            context.log.warning("raised after its end was written", error=describe(exception)["message"])
        return outcomes.released(claimed)
    if exception is None:
        try:
            return outcomes.completed(claimed, result_json(value))
        except ResultNotJson as unfit:
            exception = unfit
    if execution.request is not None:
        execution.add_stage("stopped")
    limit = get_settings().token_limit
    if execution.request == "pause" and limit is not None and execution.tokens > limit:
        exception = TokenLimitExceeded(execution.tokens, limit)  # it could not go on after a pause
    elif caused_by(exception, Stopped):
        return outcomes.released(claimed)
    if isinstance(exception, TimeLimitExceeded) and not exception.args:
        exception.args = (f"It ran longer than its limit of {catalog.get(claimed.actor).time_limit:g} s.",)
    end = outcomes.failed(claimed, exception)
    error = end.error or {}
    context.log.warning("attempt failed", error_type=error["type"], error=error["message"], attempt=claimed.attempt)
    return end
