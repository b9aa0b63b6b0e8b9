"""Runs the verbs of `state`. They block, so they run in threads."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from state.schema.version import require_current_schema
from taskapi.access.authorization import get_caller

_P = ParamSpec("_P")
_R = TypeVar("_R")


async def run_verb(request: Request, verb: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Runs a verb in a thread, as the caller of the request, and returns its result. A verb that takes no `caller`
    fails at once: nothing of `state` is read or changed without asking whose it is.

    A verb tries for a minute to reach the database. That helps a request that is under way when the database
    restarts. A request that arrives while the database is known to be down gets its 503 within seconds instead,
    because the check of the schema gives up early.
    """
    if not request.app.state.feed.connected:
        await run_in_threadpool(require_current_schema)
    given: dict[str, Any] = {**kwargs, "caller": get_caller(request)}
    return await run_in_threadpool(cast("Callable[..., _R]", verb), *args, **given)
