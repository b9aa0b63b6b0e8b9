"""What a running task can do: say how far it is, keep what it must not lose, learn that it should stop."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any

from structlog.typing import FilteringBoundLogger

from broker.execution.execution import Execution
from broker.execution.failures import TokenLimitExceeded
from broker.execution.held import HeldTasks
from broker.execution.interruptible import Shield
from broker.execution.sandboxes import Sandboxes, SandboxResult
from broker.execution.storable import event_data
from broker.execution.transaction import CompletingTransaction
from state import jsonsafe
from state.errors import LeaseLost
from state.logs import log
from state.masking import mask_start
from state.settings import get_settings
from state.workers import leases

_MESSAGE = 1000  # characters
_OWN_KINDS = ("status", "snapshot", "done", "control", "progress", "payload")
_OWN_STAGES = ("requested", "seen", "still running", "stopped")


class Context:
    _sandboxes: Sandboxes | None = None  # few tasks have any

    def __init__(self, execution: Execution, held: HeldTasks) -> None:
        claimed = execution.claimed
        self.task_id = claimed.id
        self.epoch = claimed.epoch
        self.worker = held.worker  # with task_id and epoch, the fence of whatever is written for the task
        self.attempt = claimed.attempt
        self.max_attempts = claimed.max_attempts
        self.tenant = claimed.tenant
        self.result: Any = None  # what the task ends with when its transaction completes it
        self._execution = execution
        self._held = held
        self._checkpoint = claimed.checkpoint
        self._transaction: CompletingTransaction | None = None

    @cached_property
    def log(self) -> FilteringBoundLogger:
        """structlog, bound to the task."""
        claimed = self._execution.claimed
        return log.bind(task_id=claimed.id, actor=claimed.actor, epoch=claimed.epoch)

    def progress(self, percent: float | None = None, message: str = "") -> None:
        """Where the work stands. The latest wins; it is written at most a few times a second."""
        with self._saying():
            if percent is not None and not 0 <= percent <= 100:
                raise ValueError(f"percent must be 0 to 100, not {percent!r}")
            # Masked when it is written; here only if it has to be cut, for half a secret would not be recognized.
            text = jsonsafe.clean_text(message if len(message) <= _MESSAGE else mask_start(message, _MESSAGE), _MESSAGE)
            elapsed = self._execution.elapsed_ms
            self._execution.set_progress({"percent": percent, "message": text, "elapsed_ms": elapsed})
            self._held.wakeup.set()

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        """A line for the task's history, such as a part of the output. Whoever watches gets it, now or later."""
        if kind in _OWN_KINDS:
            raise ValueError(f"{kind!r} is a kind of Callboard's own")
        with self._saying():
            self._execution.add_event(kind, event_data(data), wait=True)
            self._held.wakeup.set()

    def receipt(self, stage: str, **data: Any) -> None:
        """A stage of stopping, for whoever asked for it: `ctx.receipt("provider canceled", job="…")`."""
        if stage in _OWN_STAGES:
            raise ValueError(f"{stage!r} is a stage of Callboard's own")
        with self._saying():
            self._execution.add_stage(stage, **event_data(data))
            self._held.wakeup.set()

    @property
    def checkpoint(self) -> Mapping[str, Any]:
        """What this task has saved, in this attempt or an earlier one, in this process or another."""
        return MappingProxyType(self._checkpoint)

    def save(self, **values: Any) -> None:
        """Keeps values over attempts. Durable when it returns; raises LeaseLost when the task is no longer ours."""
        jsonsafe.check(values)
        with self._saying():
            try:
                self._checkpoint = leases.save(self.worker, self.task_id, self.epoch, values)
            except LeaseLost:
                self._held.lose(self._execution)
                raise

    def use(self, tokens: int = 0, cost: float = 0) -> None:
        """Counts what the work has cost. Adds up over attempts; raises TokenLimitExceeded above the limit."""
        with self._saying():
            used = self._execution.add_usage(tokens, cost)
        limit = get_settings().token_limit
        if limit is not None and used > limit:
            raise TokenLimitExceeded(used, limit)

    @contextmanager
    def _saying(self) -> Iterator[None]:
        """Raises LeaseLost when the task is no longer ours."""
        with self.shielded():
            self._held.require_right(self._execution)
            yield

    @property
    def canceled(self) -> bool:
        """Somebody asked for the task to stop, or the process must end. Code in long loops can look here."""
        return self._execution.stop is not None

    @property
    def request(self) -> str | None:
        """What was asked of the task: "pause", "cancel" or "force". None also when the process ends or the time limit
        is reached: the task goes on later, so nothing of it should be withdrawn."""
        return self._execution.request

    def shielded(self) -> Shield:
        """`with ctx.shielded():` no interrupt strikes in here; one that arrives is raised at the end of the block. For
        the few steps that must not be torn apart, such as cleaning up."""
        return self._execution.code.shield()

    def sandbox(self, command: Sequence[str], *, timeout_seconds: float = 60, **limits: int) -> SandboxResult:
        """Runs a program to its end, in a folder of its own, and answers its exit code and output; what it writes is
        told as `log` events meanwhile. Limits: memory, file_size, open_files, processes, output. Whatever stops the
        task kills the program with all that it has started. In an async actor: `await asyncio.to_thread(…)`."""
        # One for all threads of the task.
        sandboxes: Sandboxes = self.__dict__.setdefault("_sandboxes", Sandboxes(self, self._execution))
        return sandboxes.run(command, timeout_seconds, limits)

    def transaction(self, result: Any = None) -> CompletingTransaction:
        """`with ctx.transaction() as conn:` what is written with conn commits together with the task's completion, or
        not at all. The task's result is `result`, or what `ctx.result` is when the block ends; what the actor returns
        after it is ignored. Raises LeaseLost, with nothing written, when the task is no longer ours."""
        if self._transaction is not None:
            raise RuntimeError("a task can be completed once: this is its second ctx.transaction()")
        if result is not None:
            self.result = result
        self._transaction = CompletingTransaction(self._execution, self._held, lambda: self.result)
        return self._transaction

    def close(self) -> None:
        """The code has ended, perhaps between any two steps."""
        if self._transaction is not None:
            self._transaction.abandon()
        try:
            if self._sandboxes is not None:
                self._sandboxes.leave_all()
        except Exception:  # the task's end must be written all the same
            self.log.exception("a sandbox was not killed")
