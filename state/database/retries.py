"""Tries a verb again when its error says that this can help."""

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
_SECONDS = 15.0  # after that no other try begins: some errors, such as a lock timeout, take long to come


def retrying(verb: Callable[_P, _R]) -> Callable[_P, _R]:
    """Tries again what may succeed in a moment, or on another connection (see state/database/errors.py), with jitter
    and a cap. Such a verb is written so that running it twice is the same as running it once.

    Never inside the caller's own transaction: that one is the caller's to repeat. Nor after a statement timeout: the
    next try would take as long.
    """

    @wraps(verb)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if kwargs.get("conn") is not None:
            return verb(*args, **kwargs)
        deadline = time.monotonic() + _SECONDS
        for pause in _pauses():
            try:
                return verb(*args, **kwargs)
            except PoolTimeout as failure:  # that was waiting enough
                raise NotReady(f"The database does not answer: {failure}") from failure
            except TRANSIENT as failure:
                if not _may_help(failure) or pause is None or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    return wrapper


def _pauses() -> list[float | None]:
    """After each try; None after the last."""
    return [min(0.05 * 2**n, 1.0) * random.uniform(0.5, 1.0) for n in range(1, _TRIES)] + [None]  # noqa: S311


def _may_help(failure: Exception) -> bool:
    return kind_of(failure) in ("again", "reconnect") and not isinstance(failure, QueryCanceled)
