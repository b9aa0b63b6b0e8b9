"""The context of a running task: it reports progress and events, saves checkpoints, and says when to stop."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import Any

from structlog.typing import FilteringBoundLogger

from broker.execution.execution import Execution
from broker.execution.failures import TokenLimitExceeded
from broker.execution.held import HeldTasks
from broker.execution.interruptible import Shield
from broker.execution.regating import require_gates
from broker.execution.sandboxes import Sandboxes, SandboxResult
from broker.execution.storable import to_event_data
from broker.execution.transaction import CompletingTransaction
from broker.execution.turns import Turns
from broker.execution.workspace import Workspace
from state import jsonsafe
from state.agents import events
from state.agents.events import Found
from state.errors import LeaseLost
from state.gates import Gate
from state.logs import log
from state.masking import mask_start
from state.settings import get_settings
from state.tasks.events import RESERVED_KINDS
from state.workers import leases

_MESSAGE = 1000  # characters
_OWN_STAGES = ("requested", "seen", "still running", "stopped")


class Context:
    _sandboxes: Sandboxes | None = None  # few tasks have any

    def __init__(self, execution: Execution, held: HeldTasks, turns: Turns | None = None) -> None:
        """`turns`: those in ctx.transaction(), for the code of coroutines."""
        claimed = execution.claimed
        self.task_id = claimed.id
        self.epoch = claimed.epoch
        self.worker = held.worker  # with task_id and epoch, the fence of every write for the task
        self.attempt = claimed.attempt
        self.max_attempts = claimed.max_attempts
        self.tenant = claimed.tenant
        self.result: Any = None  # the result of a task that ctx.transaction() completes
        self._execution = execution
        self._held = held
        self._turns = turns
        self._checkpoint = claimed.checkpoint
        self._saving = threading.Lock()
        self._transaction: CompletingTransaction | None = None

    @cached_property
    def log(self) -> FilteringBoundLogger:
        """The structlog logger, bound to the task."""
        claimed = self._execution.claimed
        return log.bind(task_id=claimed.id, actor=claimed.actor, epoch=claimed.epoch)

    def progress(self, percent: float | None = None, message: str = "") -> None:
        """Reports progress. The latest report wins; it is written at most a few times a second."""
        with self._writing():
            if percent is not None and not 0 <= percent <= 100:
                raise ValueError(f"percent must be 0 to 100, not {percent!r}")
            # Masked when it is written. A text that is cut is masked here: half a secret would not be recognized later.
            text = jsonsafe.clean_text(message if len(message) <= _MESSAGE else mask_start(message, _MESSAGE), _MESSAGE)
            elapsed = self._execution.elapsed_ms
            self._execution.set_progress({"percent": percent, "message": text, "elapsed_ms": elapsed})
            self._held.wakeup.set()

    def emit(self, kind: str, data: dict[str, Any], *, wait: bool = True) -> None:
        """Adds an event to the task's history, such as a part of the output. Streams of the task send it, now or
        later. With `wait`, it waits while too many events are unwritten."""
        if kind in RESERVED_KINDS:
            raise ValueError(f"{kind!r} is a kind of event that only Callboard writes")
        with self._writing():
            self._execution.add_event(kind, to_event_data(data), wait=wait)
            self._held.wakeup.set()

    def receipt(self, stage: str, **data: Any) -> None:
        """Reports a stage of a pause or a cancel: `ctx.receipt("provider canceled", job="…")`."""
        if stage in _OWN_STAGES:
            raise ValueError(f"{stage!r} is a stage that only Callboard reports")
        with self._writing():
            self._execution.add_stage(stage, **to_event_data(data))
            self._held.wakeup.set()

    @property
    def checkpoint(self) -> Mapping[str, Any]:
        """The values that this task has saved, in this attempt or an earlier one, in this process or another."""
        return MappingProxyType(self._checkpoint)

    def save(self, **values: Any) -> None:
        """Keeps values over attempts. They are durable when it returns. Raises LeaseLost if this process no longer
        owns the task."""
        jsonsafe.check(values)
        self._require_no_transaction("save")
        with self._writing(), self._saving:  # one after the other, so that the last answer has everything
            try:
                self._checkpoint = leases.save(self.worker, self.task_id, self.epoch, values)
            except LeaseLost:
                self._held.lose(self._execution)
                raise

    def use(self, tokens: int = 0, cost: float = 0) -> None:
        """Adds to the usage, which is counted over all attempts. Raises TokenLimitExceeded above the limit."""
        if not (isfinite(tokens) and isfinite(cost)):  # could never be written, nor the end of the task after it
            raise ValueError(f"{tokens!r} tokens and a cost of {cost!r} cannot be counted")
        with self._writing():
            used = self._execution.add_usage(tokens, cost)
        limit = get_settings().token_limit
        if limit is not None and used > limit:
            raise TokenLimitExceeded(used, limit)

    @property
    def tokens(self) -> int:
        """The tokens that the task has used, in this attempt and in the earlier ones."""
        return self._execution.tokens

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Shields the block from interrupts. Raises LeaseLost if this process no longer owns the task."""
        with self.shielded():
            self._held.require_ownership(self._execution)
            yield

    @property
    def canceled(self) -> bool:
        """Whether the code should stop: a pause or cancel was requested, or the process ends. Check it in long
        loops."""
        return self._execution.stop is not None

    @property
    def request(self) -> str | None:
        """The request of a user: "pause", "cancel" or "force". None if the process ends or the time limit is reached:
        the task goes on later, so the code should not undo its work."""
        return self._execution.request

    def require_gates(self, gates: Sequence[Gate]) -> None:
        """For code that learns which gates its task must pass only when it has started; call it before the work. If the
        task has not passed them, it goes back to the queue with these gates, and no attempt is burned."""
        self._require_no_transaction("require_gates")
        require_gates(self._execution, self._held, gates)

    def shielded(self) -> Shield:
        """`with ctx.shielded():` no interrupt is raised inside the block; one that arrives is raised at its end. For a
        few steps that must not be separated, such as cleaning up."""
        return self._execution.code.shield()

    def sandbox(self, command: Sequence[str], *, timeout_seconds: float = 60, **limits: int) -> SandboxResult:
        """Runs a program to its end, in a folder of its own, and returns its exit code and output. The output is also
        emitted as `log` events while the program runs. Limits: memory, file_size, disk, open_files, processes,
        output. If the task is stopped, the program and all its descendants are killed."""
        return self._get_sandboxes().run(command, timeout_seconds, limits)

    def workspace(self, stopping: threading.Event | None = None) -> Workspace:
        """`with ctx.workspace() as workspace:` a folder for several programs: `workspace.write(path, data)`,
        `.read(path)`, `.list()`, `.run(command, timeout_seconds=60, **limits)`. It is removed at the end.
        `stopping` ends its programs from another thread."""
        self._require_no_transaction("workspace")
        with self.shielded():
            return self._get_sandboxes().open_workspace(stopping)

    def _get_sandboxes(self) -> Sandboxes:
        """Returns one object for all threads of the task."""
        self._require_no_transaction("sandbox")
        sandboxes: Sandboxes = self.__dict__.setdefault("_sandboxes", self._make_sandboxes())
        return sandboxes

    def _make_sandboxes(self) -> Sandboxes:
        return Sandboxes(self, self._execution)

    def recall(self, text: str, limit: int = 5) -> Found:
        """Returns what agents have done before that resembles a text, the nearest first: `.items`, each with `text`,
        `score`, `agent_name`, `task_type` and `task_id`. Finds only events of the task's own tenant; a task without
        one finds only events without one. `.method` is `text` if there was no vector to search by, and `.note` says
        why."""
        self._require_no_transaction("recall")
        with self.shielded():
            missing = events.explain_missing_vectors()
        query = events.make_query(text, missing)  # asks a provider: an interrupt ends the wait
        if query.tokens:
            self.use(tokens=query.tokens)
        with self.shielded():
            return events.find(query, tenant=self.tenant, limit=limit)

    def transaction(self, result: Any = None) -> CompletingTransaction:
        """`with ctx.transaction() as conn:` writes with conn commit together with the task's completion, or not at
        all. The task's result is `result`, or the value of `ctx.result` at the end of the block; the value that the
        actor returns is ignored. Raises LeaseLost, with nothing written, if this process no longer owns the task."""
        if self._transaction is not None:
            raise RuntimeError("a task can be completed only once: this is its second ctx.transaction()")
        if result is not None:
            self.result = result
        self._transaction = self._make_transaction()
        return self._transaction

    def _require_no_transaction(self, verb: str) -> None:
        """An execution never holds two connections: others might wait for the second one, each with its first."""
        if self._transaction is not None and self._transaction.is_open:
            raise RuntimeError(f"ctx.{verb}() needs a connection of its own: call it before ctx.transaction()")

    def _make_transaction(self) -> CompletingTransaction:
        return CompletingTransaction(self._execution, self._held, lambda: self.result, self._turns)

    @property
    def is_open(self) -> bool:
        """Whether `close` has something to do."""
        return self._sandboxes is not None or (self._transaction is not None and self._transaction.is_open)

    def close(self) -> None:
        """Cleans up after the code has ended, perhaps by an interrupt between any two steps."""
        if self._transaction is not None:
            self._transaction.abandon()
        try:
            if self._sandboxes is not None:
                self._sandboxes.close_all()
        except Exception:  # the end of the task must be written nevertheless
            self.log.exception("a sandbox was not killed")
        self._sandboxes = None
