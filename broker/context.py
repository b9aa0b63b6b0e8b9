"""What a running task can do: say how far it is, keep what it must not lose, learn that it should stop."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from structlog.typing import FilteringBoundLogger

from broker.execution import Execution
from state import claims, jsonsafe
from state.errors import LeaseLost
from state.logs import log

if TYPE_CHECKING:
    from broker.desk import Desk


class Context:
    def __init__(self, execution: Execution, desk: "Desk") -> None:
        claimed = execution.claimed
        self.task_id = claimed.id
        self.epoch = claimed.epoch
        self.attempt = claimed.attempt
        self.max_attempts = claimed.max_attempts
        self.tenant = claimed.tenant
        self._execution = execution
        self._desk = desk
        self._checkpoint = claimed.checkpoint

    @cached_property
    def log(self) -> FilteringBoundLogger:
        """structlog, bound to the task."""
        claimed = self._execution.claimed
        return log.bind(task_id=claimed.id, actor=claimed.actor, epoch=claimed.epoch)

    def progress(self, percent: float | None = None, message: str = "") -> None:
        """Where the work stands. The latest wins; it is written at most a few times a second."""
        if percent is not None and not 0 <= percent <= 100:
            raise ValueError(f"percent must be 0 to 100, not {percent!r}")
        text = jsonsafe.clean_text(message, limit=1000)
        self._execution.set_progress({"percent": percent, "message": text, "elapsed_ms": self._execution.elapsed_ms})
        self._desk.note()

    def emit(self, kind: str, data: dict[str, Any]) -> None:
        """A line for the task's history, such as a part of the output. Whoever watches gets it, now or later."""
        if kind in ("status", "snapshot", "done", "control", "progress"):
            raise ValueError(f"{kind!r} is a kind of Callboard's own")
        jsonsafe.check(data)
        self._execution.add_event(kind, data)
        self._desk.note()

    @property
    def checkpoint(self) -> Mapping[str, Any]:
        """What this task has saved, in this attempt or an earlier one, in this process or another."""
        return MappingProxyType(self._checkpoint)

    def save(self, **values: Any) -> None:
        """Keeps values over attempts. Durable when it returns; raises LeaseLost when the task is no longer ours."""
        jsonsafe.check(values)
        try:
            self._checkpoint = claims.save(self.task_id, self.epoch, values)
        except LeaseLost:
            self._desk.lose(self.task_id)
            raise

    def use(self, tokens: int = 0, cost: float = 0) -> None:
        """Counts what the work has cost. Adds up over attempts."""
        self._execution.add_usage(tokens, cost)

    @property
    def canceled(self) -> bool:
        """Somebody asked for the task to stop, or the process must end. Code in long loops can look here."""
        return self._execution.stop is not None
