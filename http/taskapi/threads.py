"""State verbs block, so they run in threads; a database that is away is noticed before a thread waits for it."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from state.schema.version import require_current_schema

_P = ParamSpec("_P")
_R = TypeVar("_R")


async def call(request: Request, verb: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Runs a verb. A verb tries again for a minute before it gives up: good for a request that is under way when
    the database restarts, bad for one that arrives when it is known to be down. That one gets its 503 in seconds."""
    if not request.app.state.feed.connected:
        await run_in_threadpool(require_current_schema)
    return await run_in_threadpool(verb, *args, **kwargs)
