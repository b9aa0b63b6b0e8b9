"""`ctx.transaction()`: the writes of an actor and the completion of its task, in one transaction."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any

from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.storable import to_result_json
from broker.execution.turns import Turn, Turns
from broker.metrics.measurements import note_ends
from state.database import AnyConnection, Row, transaction
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks
from state.errors import LeaseLost, NotReady
from state.gates.waking import wake
from state.logs import log_transitions
from state.tasks.followers import announce_followers
from state.workers import leases
from state.workers.leases import Settlement

_REPORTS_TIMEOUT = 30.0  # seconds to write what the task has reported so far
_STEP = 0.1  # seconds that an interrupt may have to wait


class CompletingTransaction:
    """Locks nothing of the task while the actor's code runs in the block. The ownership is checked when the block
    begins, and enforced, by the fence of the settlement, when it ends."""

    def __init__(
        self, execution: Execution, held: HeldTasks, result: Callable[[], Any], turns: Turns | None = None
    ) -> None:
        """`turns`: for the code of coroutines, of which there are more than connections."""
        self._execution = execution
        self._held = held
        self._result = result
        self._turns = turns
        self._turn: Turn | None = None
        self._opened = ExitStack()
        self._connection: AnyConnection | None = None

    def __enter__(self) -> AnyConnection:
        try:
            self._wait_for_turn()
            with self._execution.code.shield():
                self._require_owned()
                self._connection = self._opened.enter_context(transaction())
        except BaseException:
            self.abandon()
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._execution.code.shield():
            try:
                if self._connection is not None and error is None:
                    self._complete(self._connection)
                elif error is not None:
                    self._opened.__exit__(kind, error, trace)
            finally:
                self._connection = None  # the pool has it again
                self._give_back_turn()

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def abandon(self) -> None:
        """Closes the transaction if an interrupt came before the block was entered, so that __exit__ is never
        called."""
        with self._execution.code.shield():
            if self._connection is not None:
                with suppress(Exception):  # the connection is closed first, so the rollback fails
                    self._connection.close()
                    self._opened.close()
                self._connection = None
            self._give_back_turn()

    def ask_for_turn(self) -> Turn | None:
        """Returns None if there are as many connections as there may be transactions."""
        if self._turns is not None and self._turn is None:
            self._turn = self._turns.ask()
        return self._turn

    def _wait_for_turn(self) -> None:
        with self._execution.code.shield():
            turn = self.ask_for_turn()
        while turn is not None:
            # An interrupt is raised between two steps: inside one, it could leave the turn locked.
            with self._execution.code.shield(), suppress(TimeoutError):
                turn.result(_STEP)
                return

    def _give_back_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None and self._turns is not None:
            self._turns.give_back(turn)

    def _require_owned(self) -> None:
        leases.require_owned(self._held.worker, *self._execution.key)

    def _complete(self, connection: AnyConnection) -> None:
        claimed = self._execution.claimed
        rows: list[Row] = []
        try:
            end = Settlement(claimed.id, claimed.epoch, "completed", result=to_result_json(self._result()))
            self._held.wakeup.set()
            if not self._execution.wait_written(_REPORTS_TIMEOUT):  # reports come before the end in the history
                raise NotReady(f"The reports of the task could not be written within {_REPORTS_TIMEOUT:.0f} s.")
            self._held.begin_own_end(self._execution)
            rows = leases.settle(connection, self._held.worker, [end])
            if not rows:
                raise LeaseLost(claimed.id, claimed.epoch)
            self._opened.close()  # commits
        except BaseException as failure:
            self._opened.__exit__(type(failure), failure, failure.__traceback__)
            # The connection can be lost after the commit, before the answer arrives.
            if not (rows and isinstance(failure, TRANSIENT) and leases.was_settled(self._held.worker, end)):
                self._held.cancel_own_end(self._execution)
                if isinstance(failure, LeaseLost):
                    self._held.lose(self._execution)
                raise
        note_ends([end], rows)
        log_transitions(rows, worker=self._held.worker)
        notify_tasks([claimed.id])
        announce_followers(rows)
        wake(gate for row in rows for gate in row["gates"])
