"""The hooks of foreign middleware around the tasks of async actors. Dramatiq calls them only around messages in its own
threads.

Ours, and Dramatiq's own, are not called: what they are for is done otherwise for tasks, and they tell messages apart by
their threads. The hooks run in other threads, since they may block, and in a context that they share with the
coroutine: variables that they set are seen by its code."""

from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from dramatiq import MessageProxy
from dramatiq.middleware import Middleware, MiddlewareError, SkipMessage

from broker.adapter.messages import make_message
from broker.execution.execution import Execution
from broker.execution.failures import Refused
from broker.execution.offload import Offload, run_in
from state.logs import log

_HOOKS = ("before_process_message", "after_process_message", "after_skip_message")
_OWN = ("broker.", "dramatiq.", "dramatiq_pg.")


class ForeignHooks:
    def __init__(self, broker: Any, offload: Offload) -> None:
        self._broker = broker
        self._offload = offload
        self._foreign = [each for each in broker.middleware if is_foreign(each) and _has_hooks(each)]

    def __bool__(self) -> bool:
        """Whether there is any hook: without one, tasks cost nothing more."""
        return bool(self._foreign)

    async def run_around(self, execution: Execution, work: Callable[[], Awaitable[Any]]) -> Any:
        message = make_message(execution)
        variables = copy_context()
        try:
            await self._call(variables, partial(self._emit_before, message))
            value = await work()
        except SkipMessage as skipped:
            await self._call(variables, partial(self._emit_after, "after_skip_message", message))
            raise Refused(f"A middleware has skipped the task: {skipped}") from skipped
        except BaseException as failure:
            await self._call(variables, partial(self._emit_after, "after_process_message", message, exception=failure))
            raise
        await self._call(variables, partial(self._emit_after, "after_process_message", message, result=None))
        return value

    async def _call(self, variables: Context, hook: Callable[[], None]) -> None:
        """Calls hooks in the context that all hooks of one task share, with the coroutine's variables as they are."""
        _copy_variables(copy_context(), variables)
        try:
            await run_in(self._offload.hooks, partial(variables.run, hook))
        finally:
            for variable, value in variables.items():
                variable.set(value)

    def _emit_before(self, message: MessageProxy) -> None:
        for middleware in self._foreign:
            try:
                middleware.before_process_message(self._broker, message)
            except MiddlewareError:
                raise
            except Exception:  # as Dramatiq treats it
                log.exception("a hook of a middleware failed", middleware=repr(middleware), task_id=message.message_id)

    def _emit_after(self, signal: str, message: MessageProxy, **how: Any) -> None:
        for middleware in reversed(self._foreign):
            try:
                getattr(middleware, signal)(self._broker, message, **how)
            except Exception:
                log.exception("a hook of a middleware failed", middleware=repr(middleware), task_id=message.message_id)


def _copy_variables(source: Context, target: Context) -> None:
    for variable, value in source.items():
        target.run(variable.set, value)


def is_foreign(middleware: Any) -> bool:
    """Whether it is neither ours nor Dramatiq's own."""
    return not f"{type(middleware).__module__}.".startswith(_OWN)


def _has_hooks(middleware: Any) -> bool:
    return any(getattr(type(middleware), name, None) is not getattr(Middleware, name, None) for name in _HOOKS)
