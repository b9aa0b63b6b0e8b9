"""The programs that a task runs, in boxes that end with it. Who makes the boxes is said from outside: broker/ knows
nothing of providers/."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from broker.execution.execution import Execution

if TYPE_CHECKING:
    from broker.context import Context

_STEP = 0.1  # seconds that an interrupt may have to wait
_TELL_EVERY = 0.4  # seconds between two lines of history
_TELL_AT_ONCE = 8_000  # characters
_TELL_IN_ALL = 200_000


class SandboxResult(Protocol):
    @property
    def exit_code(self) -> int: ...
    @property
    def output(self) -> str: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def seconds(self) -> float: ...


class Sandbox(Protocol):
    @property
    def ended(self) -> bool: ...
    def read(self, seconds: float) -> str: ...
    def result(self) -> SandboxResult: ...
    def kill(self) -> tuple[int, list[int]]: ...


class Starter(Protocol):
    def __call__(self, command: Sequence[str], *, seconds: float, **limits: int) -> Sandbox: ...


_starter: Starter | None = None


def set_starter(starter: Starter | None) -> None:
    global _starter
    _starter = starter


class Sandboxes:
    """Those of one task."""

    def __init__(self, ctx: "Context", execution: Execution) -> None:
        self._ctx = ctx
        self._execution = execution
        self._open: list[Sandbox] = []
        self._leaving = threading.RLock()

    def run(self, command: Sequence[str], seconds: float, limits: dict[str, int]) -> SandboxResult:
        if _starter is None:
            raise RuntimeError("Nobody makes sandboxes here: broker.sandboxes.set_starter was not called.")
        _refuse_in_event_loop()
        told = _Told(self._ctx)
        sandbox: Sandbox | None = None
        try:
            with self._ctx.shielded():
                sandbox = _starter(command, seconds=seconds, **limits)
                self._open.append(sandbox)
            while True:
                self._heed_stop()
                with self._ctx.shielded():
                    told.add(sandbox.read(_STEP))
                    if sandbox.ended:
                        return sandbox.result()
        finally:
            with self._ctx.shielded():
                if sandbox is not None:
                    self._leave(sandbox)
                told.finish()

    def _heed_stop(self) -> None:
        """In a thread that no interrupt strikes."""
        if self._execution.stop is not None and not self._execution.code.is_mine():
            raise self._execution.stop

    def leave_all(self) -> None:
        """For what an interrupt has left behind, or a thread of the task's own."""
        with self._leaving:
            for sandbox in list(self._open):
                self._leave(sandbox)

    def _leave(self, sandbox: Sandbox) -> None:
        with self._leaving:  # whoever comes second waits until it is done
            if sandbox not in self._open:
                return
            self._open.remove(sandbox)
            if sandbox.ended:
                return
            killed, survivors = sandbox.kill()
            self._ctx.log.info("sandbox killed", killed=killed, survivors=survivors)
            if self._ctx.request is not None:
                self._ctx.receipt("sandbox killed", killed=killed, survivors=survivors)


class _Told:
    """Output as lines of history: a few a second, and not without end. All of it is in the result."""

    def __init__(self, ctx: "Context") -> None:
        self._ctx = ctx
        self._text = ""
        self._left_out = 0
        self._total = 0
        self._next = 0.0

    def add(self, text: str) -> None:
        room = min(_TELL_AT_ONCE, _TELL_IN_ALL - self._total) - len(self._text)
        self._text += text[: max(room, 0)]
        self._left_out += len(text) - max(min(room, len(text)), 0)
        if time.monotonic() >= self._next:
            self._tell(self._text.rfind("\n") + 1 or (len(self._text) if self._left_out else 0))

    def finish(self) -> None:
        self._tell(len(self._text))
        if self._left_out:
            self._ctx.emit("log", {"text": f"… ({self._left_out} characters are left out here)\n"})

    def _tell(self, end: int) -> None:
        if end:
            self._ctx.emit("log", {"text": self._text[:end]})
            self._text = self._text[end:]
            self._total += end
            self._next = time.monotonic() + _TELL_EVERY


def _refuse_in_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("The event loop is everybody's: use `await asyncio.to_thread(ctx.sandbox, …)`.")
