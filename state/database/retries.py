"""Repeats a verb if its error says that another try can help."""

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from psycopg.errors import QueryCanceled
from psycopg_pool import PoolTimeout

from state.database.errors import TRANSIENT, kind_of
from state.errors import NotReady

_P = ParamSpec("_P")
_R = TypeVar("_R")

_TRIES = 6
_SECONDS = 15.0  # no try begins later than this: some errors, such as a lock timeout, take long


def retrying(verb: Callable[_P, _R]) -> Callable[_P, _R]:
    """Repeats the verb after errors of the kinds "again" and "reconnect" (see state/database/errors.py), with jitter
    and a cap. Running such a verb twice must have the same effect as running it once.

    Never repeats inside the caller's own transaction (`conn`): only the caller can repeat that. Nor after a statement
    timeout: the next try would take as long."""

    @wraps(verb)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if kwargs.get("conn") is not None:
            return verb(*args, **kwargs)
        deadline = time.monotonic() + _SECONDS
        for pause in _pauses():
            try:
                return verb(*args, **kwargs)
            except PoolTimeout as failure:  # it has waited long enough
                raise NotReady(f"The database does not answer: {failure}") from failure
            except TRANSIENT as failure:
                if not _may_help(failure) or pause is None or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    return wrapper


def _pauses() -> list[float | None]:
    """Seconds to wait after each try; None after the last one."""
    return [min(0.05 * 2**n, 1.0) * random.uniform(0.5, 1.0) for n in range(1, _TRIES)] + [None]  # noqa: S311


def _may_help(failure: Exception) -> bool:
    return kind_of(failure) in ("again", "reconnect") and not isinstance(failure, QueryCanceled)
