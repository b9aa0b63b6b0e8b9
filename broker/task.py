"""`@task` declares an actor. Its function takes a context and a request, and returns the result of the task."""

import inspect
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, cast, get_type_hints

import dramatiq
from pydantic import BaseModel

from broker.execution.coroutines import declare_work
from broker.execution.runner import Work, run_task
from state.gates import Gate
from state.settings import get_settings
from state.tasks.catalog import STANDARD_POLICY, ActorSpec, RetryPolicy, Role

_W = TypeVar("_W", bound=Callable[..., Any])

DEFAULT_QUEUE = "tasks"


class TaskActor(dramatiq.Actor[[Any], None]):
    """A Dramatiq actor whose messages are tasks: `send(request)` submits one."""

    def __init__(self, fn: Callable[[Any], None], *, spec: ActorSpec, work: Work, **options: Any) -> None:
        self.spec = spec
        self.work = work  # the decorated function, or what was put around it
        super().__init__(fn, **options)

    def wrap(self, wrap: Callable[[Work], Work]) -> None:
        """Puts something around the function: for those who watch what runs (deploy/prove/recorder.py)."""
        self.work = wrap(self.work)
        if self.spec.is_async:
            declare_work(self.spec.name, self.work)


def task(
    *,
    queue: str = DEFAULT_QUEUE,
    max_attempts: int | None = None,
    max_age: float | Callable[[], float | None] | None = None,
    time_limit: float = 3600,
    policy: RetryPolicy = STANDARD_POLICY,
    priority: Callable[[Any], int] | None = None,
    gates: Callable[[Any], Iterable[Gate]] | None = None,
    known_gates: Callable[[], Iterable[Gate]] | None = None,
    role: Role = "submitter",
    created_by: str | None = None,
    name: str | None = None,
) -> Callable[[_W], TaskActor]:
    """Declares an actor. `max_age` and `time_limit` are in seconds; `policy` sets the delays between attempts;
    `max_attempts` defaults to CALLBOARD_MAX_ATTEMPTS. `priority` is called with a request and returns the priority of a
    task for which nobody gives one; without it, that is 2. `gates` is called with a request and returns the gates that
    its task must pass, always the same ones for the same request. `known_gates` returns gates that are declared when a
    worker starts. `role` is what a caller needs to be to submit a task; `created_by` names what creates its tasks, if
    nobody can submit them."""

    def declare(function: _W) -> TaskActor:
        spec = ActorSpec(
            name=name or function.__name__,
            queue=queue,
            request=get_request_model(function),
            max_attempts=get_settings().max_attempts if max_attempts is None else max_attempts,
            max_age=max_age if callable(max_age) else lambda: max_age,
            time_limit=time_limit,
            policy=policy,
            description=inspect.getdoc(function) or "",
            gates=gates,
            known_gates=known_gates,
            priority=priority,
            role=role,
            created_by=created_by,
            is_async=inspect.iscoroutinefunction(inspect.unwrap(function)),
        )
        if spec.is_async:
            declare_work(spec.name, function)

        def run(task_id: str, epoch: int) -> None:
            run_task(spec, actor.work, task_id, epoch)

        run.__name__ = spec.name
        run.__doc__ = function.__doc__
        actor = cast(
            "TaskActor",
            dramatiq.actor(
                run,
                actor_class=partial(TaskActor, spec=spec, work=function),
                actor_name=spec.name,
                queue_name=queue,
                time_limit=math.inf,  # the watchdog enforces spec.time_limit: Dramatiq's could interrupt our own code
            ),
        )
        return actor

    return declare


def get_request_model(function: Callable[..., Any]) -> type[BaseModel]:
    """Returns the annotation of the second parameter. Raises TypeError if it is not a pydantic model."""
    parameters = list(inspect.signature(function).parameters)
    hints = get_type_hints(function)
    model = hints.get(parameters[1]) if len(parameters) == 2 else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"{function.__name__} must take (ctx: Context or AsyncContext, request: <a pydantic model>)")
    return model
