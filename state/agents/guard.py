"""The rule that an agent's code does not create tasks: only the orchestrator does. It holds for the context that the
code runs in, so that other code in the same process is free to submit."""

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any

from state.errors import TasksRefused

_refusing: ContextVar[bool] = ContextVar("callboard_refuses_tasks", default=False)


def require_may_create() -> None:
    """Raises TasksRefused in the code of an agent. Every verb that creates tasks calls this first."""
    if _refusing.get():
        raise TasksRefused


def is_refusing() -> bool:
    return _refusing.get()


def run_refusing(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that may not create tasks. It runs in a context of its own, which the interpreter leaves
    whatever happens: an interrupt of the task could skip a `finally`."""
    return _run(True, function, args, kwargs)


def run_free(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that may create tasks, although its caller may not."""
    return _run(False, function, args, kwargs)


async def await_refusing(work: Any) -> Any:
    """Awaits an agent's coroutine."""
    before = _refusing.set(True)
    try:
        return await work
    finally:
        _refusing.reset(before)


def _run(refusing: bool, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    context = copy_context()
    context.run(_refusing.set, refusing)
    return context.run(function, *args, **kwargs)
