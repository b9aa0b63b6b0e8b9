"""Runs one claimed task in a thread of Dramatiq. Lets no exception escape: Dramatiq must not retry a task, because the
state store does."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from broker.context import Context
from broker.execution import outcomes
from broker.execution.execution import Execution
from broker.execution.failures import TokenLimitExceeded, describe
from broker.execution.held import HeldTasks, get_held_tasks
from broker.execution.interrupts import Interrupt, NotStarted, Stopped, TimeLimitExceeded, caused_by
from broker.execution.storable import ResultNotJson, to_result_json
from broker.metrics.measurements import note_run
from state.settings import get_settings
from state.tasks import catalog
from state.tasks.catalog import ActorSpec
from state.tasks.traces import read_traceparent
from state.tracing import is_tracing, note_failure, open_span
from state.workers.leases import Settlement

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Work = Callable[[Any, Any], Any]  # of a context and a request


def run_task(spec: ActorSpec, function: Work, task_id: str, epoch: int) -> None:
    held = get_held_tasks()
    execution = held.start(task_id, epoch, spec.time_limit)
    if execution is None:
        return
    begun = time.perf_counter()
    context = Context(execution, held)
    with trace_attempt(execution, read_traceparent(task_id) if is_tracing() else None) as span:
        value, exception = _run(spec, function, execution, context, held)
        if exception is not None:
            note_failure(span, type(exception).__name__)
    # No interrupt can be raised in this thread from here on.
    context.close()
    held.end(execution, settle(held, execution, context, time.perf_counter() - begun, value, exception))


def trace_attempt(execution: Execution, traceparent: str | None) -> AbstractContextManager["Span | None"]:
    claimed = execution.claimed
    if not is_tracing():
        return nullcontext()
    attributes = {
        "callboard.task_id": claimed.id,
        "callboard.actor": claimed.actor,
        "callboard.attempt": claimed.attempt,
    }
    return open_span(f"attempt {claimed.actor}", "consumer", attributes, traceparent=traceparent)


def _run(
    spec: ActorSpec, function: Work, execution: Execution, context: Context, held: HeldTasks
) -> tuple[Any, BaseException | None]:
    """Returns the value that the code returned, or the exception that it raised."""

    def work() -> Any:
        request = spec.request.model_validate(execution.claimed.payload)
        for check in held.start_checks:
            check(execution, request)
        return function(context, request)

    return run_interruptibly(execution, work)


def run_interruptibly(execution: Execution, work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Calls the code of a task, which can be interrupted in the calling thread meanwhile. Returns its value, or the
    exception that it raised."""
    returned: list[Any] = []
    exception: BaseException | None = None
    try:
        try:
            execution.enter_code()
            returned.append(work())
        except BaseException as raised:
            exception = raised
        execution.code.end()
    except Interrupt as late:  # raised between the end of the code and the call above
        execution.code.end()
        exception = exception or (None if returned else late)
    return (returned or [None])[0], exception


def settle(
    held: HeldTasks, execution: Execution, context: Context, seconds: float, value: Any, exception: BaseException | None
) -> Settlement:
    """Returns the end of code that has returned a value or raised an exception."""
    try:
        if exception is None or not caused_by(exception, NotStarted):
            held.durations.note(execution.claimed.actor, seconds)
            note_run(execution.claimed.actor, seconds)
        return _settle(execution, context, value, exception)
    except Exception as unexpected:  # the task must get an end, whatever the error is
        return outcomes.failed(execution.claimed, unexpected)


def _settle(execution: Execution, context: Context, value: Any, exception: BaseException | None) -> Settlement:
    claimed = execution.claimed
    if execution.state != "running":  # lost, or its end was written by its own thread: this settlement is not used
        if exception is not None and execution.state == "ending" and not caused_by(exception, NotStarted):
            context.log.warning("raised after its end was written", error=describe(exception)["message"])
        return outcomes.released(claimed)
    if exception is None:
        try:
            return outcomes.completed(claimed, to_result_json(value))
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
