"""`@task`: declares a kind of work. The function gets a context and its request; what it returns is the result."""

import inspect
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast, get_type_hints

import dramatiq
from pydantic import BaseModel

from broker import settlements, workplace
from broker.context import Context
from broker.coroutines import run_coroutine
from broker.execution import Execution
from broker.failures import TokenLimitExceeded, describe
from broker.interrupts import Interrupt, Stopped, TimeLimitExceeded, caused_by
from broker.storable import ResultNotJson, result_json
from state import catalog
from state.catalog import STANDARD_POLICY, ActorSpec, RetryPolicy
from state.claims import Settlement
from state.gates import Gate
from state.settings import get_settings

Work = Callable[[Context, Any], Any]
_W = TypeVar("_W", bound=Callable[..., Any])

DEFAULT_QUEUE = "tasks"


class TaskActor(dramatiq.Actor[[Any], None]):
    """A Dramatiq actor whose messages are tasks: `send(request)` submits one."""


def task(
    *,
    queue: str = DEFAULT_QUEUE,
    max_attempts: int = 4,
    max_age: float | Callable[[], float | None] | None = None,
    time_limit: float = 3600,
    policy: RetryPolicy = STANDARD_POLICY,
    gates: Callable[[Any], Iterable[Gate]] | None = None,
    known_gates: Callable[[], Iterable[Gate]] | None = None,
    name: str | None = None,
) -> Callable[[_W], TaskActor]:
    """Declares an actor. `max_age` and `time_limit` are seconds; `policy` says how long to wait between attempts.
    `gates` is asked with each request where it has to pass; `known_gates` are entered when a worker boots."""

    def declare(function: _W) -> TaskActor:
        spec = ActorSpec(
            name=name or function.__name__,
            queue=queue,
            request=_request_model(function),
            max_attempts=max_attempts,
            max_age=max_age if callable(max_age) else lambda: max_age,
            time_limit=time_limit,
            policy=policy,
            description=inspect.getdoc(function) or "",
            gates=gates,
            known_gates=known_gates,
        )

        def run(task_id: str) -> None:
            _perform(spec, function, task_id)

        run.__name__ = spec.name
        run.__doc__ = function.__doc__
        actor = dramatiq.actor(
            run,
            actor_class=TaskActor,
            actor_name=spec.name,
            queue_name=queue,
            time_limit=math.inf,  # the watch keeps to spec.time_limit: Dramatiq's own can strike outside the task
        )
        catalog.enter(spec)
        return cast("TaskActor", actor)

    return declare


def _request_model(function: Callable[..., Any]) -> type[BaseModel]:
    parameters = list(inspect.signature(function).parameters)
    hints = get_type_hints(function)
    model = hints.get(parameters[1]) if len(parameters) == 2 else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"{function.__name__} must take (ctx: Context, request: <a pydantic model>)")
    return model


def _perform(spec: ActorSpec, function: Work, task_id: str) -> None:
    """Runs one claimed task in this thread. Lets nothing escape: Dramatiq must not retry what the state store does."""
    desk = workplace.current().desk
    execution = desk.executions.get(task_id)
    if execution is None or not execution.begin(spec.time_limit):
        return
    begun = time.perf_counter()
    context = Context(execution, desk)
    value, exception = _run(spec, function, execution, context)
    # No interrupt can strike from here on.
    context.close()
    desk.durations.note(spec.name, time.perf_counter() - begun)
    if execution.lost or execution.settled:
        if exception is not None and execution.settled:
            context.log.warning("raised after its end was written", error=describe(exception)["message"])
        execution.finished = True
        desk.forget(execution)
        return
    execution.settled = True
    try:
        settlement = _settlement(execution, context, value, exception)
    except Exception as unexpected:  # whatever it is, the task must not stay with us for ever
        settlement = settlements.failed(execution.claimed, unexpected)
    desk.post(settlement)
    execution.finished = True


def _run(spec: ActorSpec, function: Work, execution: Execution, context: Context) -> tuple[Any, BaseException | None]:
    """What the code returned, or what it raised."""
    returned: list[Any] = []
    exception: BaseException | None = None
    try:
        try:
            execution.enter_code()
            value = function(context, spec.request.model_validate(execution.claimed.payload))
            returned.append(run_coroutine(execution, value) if inspect.isawaitable(value) else value)
        except BaseException as raised:
            exception = raised
        execution.running.end()
    except Interrupt as late:  # it struck between the code's end and ours
        execution.running.end()
        exception = exception or (None if returned else late)
    return (returned or [None])[0], exception


def _settlement(execution: Execution, context: Context, value: Any, exception: BaseException | None) -> Settlement:
    claimed = execution.claimed
    if exception is None:
        try:
            return settlements.completed(claimed, result_json(value))
        except ResultNotJson as unfit:
            exception = unfit
    if execution.request is not None:
        execution.add_stage("stopped")
    limit = get_settings().token_limit
    if execution.request == "pause" and limit is not None and execution.tokens > limit:
        exception = TokenLimitExceeded(execution.tokens, limit)  # it could not go on after a pause
    elif caused_by(exception, Stopped):
        return settlements.released(claimed)
    if isinstance(exception, TimeLimitExceeded) and not exception.args:
        exception.args = (f"It ran longer than its limit of {catalog.get(claimed.actor).time_limit:g} s.",)
    settlement = settlements.failed(claimed, exception)
    error = settlement.error or {}
    context.log.warning("attempt failed", error_type=error["type"], error=error["message"], attempt=claimed.attempt)
    return settlement
