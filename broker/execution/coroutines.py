"""Async actors: the coroutine runs on Dramatiq's event loop, and the worker's thread waits until it has really
ended."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from dramatiq.asyncio import get_event_loop_thread

from broker.execution.execution import Execution


def run_coroutine(execution: Execution, work: Awaitable[Any]) -> Any:
    """Returns the value of the coroutine, or raises its exception. Dramatiq's own function is not used: it loops for
    ever on a TimeoutError, and gives up after a second on a coroutine that cleans up before it ends."""
    thread = get_event_loop_thread()
    assert thread is not None  # noqa: S101  (the EventLoop middleware has set it)

    async def contained() -> tuple[Any, BaseException | None]:
        current = asyncio.current_task()
        assert current is not None  # noqa: S101
        execution.code.attach(current)
        if execution.stop is not None:
            current.cancel()  # it was stopped before the loop got to it
        try:
            return await work, None
        except BaseException as exception:  # nothing may escape into the loop that all coroutines share
            return None, exception

    try:
        execution.code.move_to_loop()
    except BaseException:
        if asyncio.iscoroutine(work):
            work.close()
        raise
    value, exception = asyncio.run_coroutine_threadsafe(contained(), thread.loop).result()
    if exception is None:
        return value
    if isinstance(exception, asyncio.CancelledError) and execution.stop is not None:
        raise execution.stop from exception
    raise exception
