"""`ctx.transaction()`: a task's own writes and its completion, in one transaction."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any

import psycopg

from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.storable import result_json
from state.database.connection import Connection, Row
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks
from state.database.pool import get_database
from state.errors import LeaseLost, NotReady
from state.gates.waking import wake
from state.logs import log_transitions
from state.workers import leases
from state.workers.leases import Settlement

_LAST_WORDS = 30.0  # seconds in which what the task has said must get written


class CompletingTransaction:
    """Nothing of the task is locked while the user's code runs in it: whether it is ours is looked at when the block
    begins, and made sure of, by its fence, when it ends."""

    def __init__(self, execution: Execution, held: HeldTasks, result: Callable[[], Any]) -> None:
        self._execution = execution
        self._held = held
        self._result = result
        self._opened = ExitStack()
        self._connection: Connection | None = None

    def __enter__(self) -> psycopg.Connection[Any]:
        claimed = self._execution.claimed
        with self._execution.code.shield():
            leases.require_owned(self._held.worker, claimed.id, claimed.epoch)
            self._connection = self._opened.enter_context(get_database().pool().connection())
            self._opened.enter_context(self._connection.transaction())
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._execution.code.shield():
            if self._connection is not None and error is None:
                self._complete(self._connection)
            elif error is not None:
                self._opened.__exit__(kind, error, trace)
            self._connection = None

    def abandon(self) -> None:
        """An interrupt can strike just before the block is entered, which then is never left."""
        if self._connection is not None:
            with suppress(Exception):  # it is broken on purpose
                self._connection.close()
                self._opened.close()

    def _complete(self, connection: Connection) -> None:
        claimed = self._execution.claimed
        rows: list[Row] = []
        try:
            end = Settlement(claimed.id, claimed.epoch, "completed", result=result_json(self._result()))
            self._held.wakeup.set()
            if not self._execution.wait_written(_LAST_WORDS):  # what a task has said stands before its end
                raise NotReady(f"What the task has reported could not be written within {_LAST_WORDS:.0f} s.")
            self._held.begin_completion(self._execution)
            rows = leases.settle(connection, self._held.worker, [end])
            if not rows:
                raise LeaseLost(claimed.id, claimed.epoch)
            self._opened.close()  # commits
        except BaseException as failure:
            self._opened.__exit__(type(failure), failure, failure.__traceback__)
            # A connection can be lost after the commit, and before we hear of it.
            if not (rows and isinstance(failure, TRANSIENT) and leases.was_settled(self._held.worker, end)):
                self._held.cancel_completion(self._execution)
                if isinstance(failure, LeaseLost):
                    self._held.lose(self._execution)
                raise
        log_transitions(rows, worker=self._held.worker)
        notify_tasks([claimed.id])
        wake(gate for row in rows for gate in row["gates"])
