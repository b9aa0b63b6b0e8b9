"""Runs the verbs of `state`. They block, so they run in threads."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from state.schema.version import require_current_schema
from state.tasks.sharing import Asked
from taskapi.access.authorization import get_caller
from taskapi.api.batcher import Batcher

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Wanted = TypeVar("_Wanted")
_Found = TypeVar("_Found")


async def run_verb(request: Request, verb: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Runs a verb in a thread, as the caller of the request, and returns its result. A verb that takes no `caller`
    fails at once: nothing of `state` is read or changed without asking whose it is.

    A verb tries for a minute to reach the database. That helps a request that is under way when the database
    restarts. A request that arrives while the database is known to be down gets its 503 within seconds instead,
    because the check of the schema gives up early.
    """
    await _require_database(request)
    given: dict[str, Any] = {**kwargs, "caller": get_caller(request)}
    return await run_in_threadpool(cast("Callable[..., _R]", verb), *args, **given)


async def run_shared(
    request: Request,
    verb: Callable[[Sequence[Asked[_Wanted]]], Sequence[_Found | Exception]],
    wanted: _Wanted,
    show: Callable[[_Found], _R],
) -> _R:
    """Runs a verb that serves many callers at once, for the caller of the request and for those who ask at the same
    time. Returns what is meant for this one, as `show` has it, or raises its error."""
    await _require_database(request)
    batchers: dict[object, Batcher[Any, Any, Any]] = request.app.state.batchers
    if (batcher := batchers.get((verb, show))) is None:
        batcher = batchers[verb, show] = Batcher(verb, show)
    answer: _R = await batcher.ask(wanted, get_caller(request))
    return answer


async def _require_database(request: Request) -> None:
    if not request.app.state.feed.connected:
        await run_in_threadpool(require_current_schema)
