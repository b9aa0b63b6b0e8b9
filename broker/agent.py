"""`@agent` declares what an agent does with one type of task. Its function takes a context and a request, and returns a
result. Tasks of the actor `agent`, and runs of projects, call it by the agent's name and the task type."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel

from broker.async_context import AsyncContext
from broker.task import get_request_model
from state.agents import catalog
from state.agents.catalog import AgentSpec
from state.agents.guard import await_refusing, run_refusing
from state.gates import Gate
from state.tasks.catalog import Role
from state.tasks.priorities import MEDIUM, parse_priority

_F = TypeVar("_F", bound=Callable[..., Any])

_functions: dict[tuple[str, str], Callable[..., Any]] = {}


def agent(
    agent_name: str,
    task_type: str,
    *,
    priority: int | str = MEDIUM,
    gates: Callable[[Any], Iterable[Gate]] | None = None,
    known_gates: Callable[[], Iterable[Gate]] | None = None,
    role: Role = "submitter",
) -> Callable[[_F], _F]:
    """Declares a task type of an agent. `priority` (0 to 3, or its name) is that of a task for which nobody gives one.
    `gates` is called with a request and returns the gates that its task must pass, always the same ones for the same
    request. `known_gates` returns gates that are declared when a worker starts. `role` is what a caller needs to be."""

    def declare(function: _F) -> _F:
        spec = AgentSpec(
            agent_name=agent_name,
            task_type=task_type,
            request=get_request_model(function),
            priority=parse_priority(priority),
            gates=gates,
            role=role,
            description=inspect.getdoc(function) or "",
            result=_get_result_model(function),
            known_gates=known_gates,
            source=_describe_source(function),
        )
        catalog.register(spec)
        _functions[agent_name, task_type] = function
        return function

    return declare


async def run_agent(ctx: AsyncContext, agent_name: str, task_type: str, input: Any) -> Any:  # noqa: A002
    """Runs an agent, whose code cannot create tasks: an async one as a coroutine, another one in a thread of its own.
    The input is a dict or the agent's model. Raises UnknownAgent or pydantic's ValidationError."""
    spec = catalog.get(agent_name, task_type)
    request = spec.request.model_validate(input)
    function = _functions[agent_name, task_type]
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        return await await_refusing(run_refusing(function, ctx, request))
    return await ctx.call(lambda context: run_refusing(function, context, request))


def _get_result_model(function: Callable[..., Any]) -> type[BaseModel]:
    model = get_type_hints(function).get("return")
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"{function.__name__} must return a pydantic model, and say so in its annotation")
    return model


def _describe_source(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{function.__module__}.{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
