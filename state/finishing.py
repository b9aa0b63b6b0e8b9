"""Waits of coroutines that a cancellation does not cut short. `providers` import this module too, so it imports nothing
of ours."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import TypeVar

_T = TypeVar("_T")


async def finish(work: Awaitable[_T], on_cancel: Callable[[], object] | None = None) -> _T:
    """Awaits work to its end, also if the caller is canceled meanwhile; then the cancellation is raised. So no thread
    of `asyncio.to_thread` goes on after its caller. `on_cancel` is called at each cancellation."""
    steps = asyncio.ensure_future(work)
    canceled: asyncio.CancelledError | None = None
    while not steps.done():
        try:
            await asyncio.wait([steps])
        except asyncio.CancelledError as request:
            canceled = request
            if on_cancel is not None:
                on_cancel()
    if canceled is not None:
        if not steps.cancelled():
            steps.exception()  # retrieved: the cancellation has precedence
        raise canceled
    return steps.result()


@asynccontextmanager
async def open_in_threads(manager: AbstractContextManager[_T]) -> AsyncIterator[_T]:
    """`async with` for a context manager that blocks: it is entered and left in threads."""
    opened = ExitStack()  # knows whether it was entered before a cancellation
    try:
        yield await finish(asyncio.to_thread(opened.enter_context, manager))
    except BaseException as error:
        await finish(asyncio.to_thread(opened.__exit__, type(error), error, error.__traceback__))
        raise
    await finish(asyncio.to_thread(opened.close))
