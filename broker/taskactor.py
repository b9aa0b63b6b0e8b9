"""`@task`: declares a kind of work. The function gets a context and its request; what it returns is the result."""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast, get_type_hints

import dramatiq
from dramatiq.asyncio import get_event_loop_thread
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from broker import workplace
from broker.context import Context
from broker.execution import Execution
from broker.failures import describe, retry_seconds
from broker.interrupts import Stopped
from state import catalog, jsonsafe
from state.catalog import STANDARD_POLICY, ActorSpec, RetryPolicy
from state.claims import Settlement
from state.gates import Gate

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
            time_limit=int(time_limit * 1000),
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
    if execution is None or not execution.begin():
        return
    begun = time.perf_counter()
    settlement: Settlement | None = None
    try:
        settlement = _attempt(spec, function, execution, Context(execution, desk))
    except Stopped:
        execution.received()  # struck between the work and its end
        settlement = Settlement(task_id, execution.claimed.epoch, "released")
    finally:
        execution.end()
        desk.durations.note(spec.name, time.perf_counter() - begun)
        execution.finished = True
        if execution.lost:
            desk.executions.pop(task_id, None)
        elif settlement is not None:
            desk.post(settlement)


def _attempt(spec: ActorSpec, function: Work, execution: Execution, context: Context) -> Settlement:
    claimed = execution.claimed
    try:
        request = spec.request.model_validate(claimed.payload)
        value = function(context, request)
        if inspect.isawaitable(value):
            value = _await(value)
        result = to_jsonable_python(value)
        jsonsafe.check(result)
        return Settlement(claimed.id, claimed.epoch, "completed", result=result)
    except Stopped:
        execution.received()
        return Settlement(claimed.id, claimed.epoch, "released")
    except BaseException as exception:
        if execution.stop is not None and isinstance(exception.__cause__, Stopped):
            execution.received()
            return Settlement(claimed.id, claimed.epoch, "released")
        error = describe(exception)
        context.log.warning("attempt failed", error_type=error["type"], error=error["message"], attempt=claimed.attempt)
        delay = retry_seconds(error, exception, spec.policy, claimed.attempt)
        return Settlement(claimed.id, claimed.epoch, "failed", error=error, retry_seconds=delay)


def _await(coroutine: Awaitable[Any]) -> Any:
    """On Dramatiq's event loop, which would loop for ever on a TimeoutError: so nothing is raised through it."""

    async def contained() -> tuple[Any, BaseException | None]:
        try:
            return await coroutine, None
        except Exception as exception:
            return None, exception

    loop = get_event_loop_thread()
    assert loop is not None  # noqa: S101  (the EventLoop middleware has set it)
    value, exception = loop.run_coroutine(contained())
    if exception is not None:
        raise exception
    return value
