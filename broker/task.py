"""`@task`: declares a kind of work. The function gets a context and its request; what it returns is the result."""

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast, get_type_hints

import dramatiq
from pydantic import BaseModel

from broker.execution.runner import run_task
from state.gates import Gate
from state.settings import get_settings
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec, RetryPolicy

_W = TypeVar("_W", bound=Callable[..., Any])

DEFAULT_QUEUE = "tasks"


class TaskActor(dramatiq.Actor[[Any], None]):
    """A Dramatiq actor whose messages are tasks: `send(request)` submits one."""


def task(
    *,
    queue: str = DEFAULT_QUEUE,
    max_attempts: int | None = None,
    max_age: float | Callable[[], float | None] | None = None,
    time_limit: float = 3600,
    policy: RetryPolicy = STANDARD_POLICY,
    gates: Callable[[Any], Iterable[Gate]] | None = None,
    known_gates: Callable[[], Iterable[Gate]] | None = None,
    name: str | None = None,
) -> Callable[[_W], TaskActor]:
    """Declares an actor. `max_age` and `time_limit` are seconds; `policy` says how long to wait between attempts.
    `max_attempts` defaults to CALLBOARD_MAX_ATTEMPTS. `gates` is asked with each request where it has to pass;
    `known_gates` are entered when a worker boots."""

    def declare(function: _W) -> TaskActor:
        spec = ActorSpec(
            name=name or function.__name__,
            queue=queue,
            request=_request_model(function),
            max_attempts=get_settings().max_attempts if max_attempts is None else max_attempts,
            max_age=max_age if callable(max_age) else lambda: max_age,
            time_limit=time_limit,
            policy=policy,
            description=inspect.getdoc(function) or "",
            gates=gates,
            known_gates=known_gates,
        )

        def run(task_id: str, epoch: int) -> None:
            run_task(spec, function, task_id, epoch)

        run.__name__ = spec.name
        run.__doc__ = function.__doc__
        actor = dramatiq.actor(
            run,
            actor_class=TaskActor,
            actor_name=spec.name,
            queue_name=queue,
            time_limit=math.inf,  # the watchdog keeps to spec.time_limit: Dramatiq's own can strike outside the task
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
