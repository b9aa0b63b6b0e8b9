"""Watching what a worker process runs, from the inside: for proofs that nothing runs twice (deploy/prove)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any

import dramatiq

from broker.execution.runner import Work
from broker.task import TaskActor
from state.workers.leases import Claimed

Around = Callable[[Claimed], AbstractContextManager[Any]]


def watch_executions(around: Around) -> None:
    """Puts a context manager around the code of every actor that has been declared. It is entered when the code begins,
    and left before anything is done with its result."""
    for actor in dramatiq.get_broker().actors.values():
        if isinstance(actor, TaskActor):
            actor.wrap(partial(_put_around, around, is_async=actor.spec.is_async))


def _put_around(around: Around, work: Work, *, is_async: bool) -> Work:
    @wraps(work)
    def run(ctx: Any, request: Any) -> Any:
        with around(ctx._execution.claimed):
            return work(ctx, request)

    @wraps(work)
    async def run_async(ctx: Any, request: Any) -> Any:
        with around(ctx._execution.claimed):
            return await work(ctx, request)

    return run_async if is_async else run
