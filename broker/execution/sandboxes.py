"""The sandboxes in which a task runs programs; they end with the task. The function that starts a sandbox is set from
outside, because broker/ imports nothing of providers/."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from broker.execution.execution import Execution

if TYPE_CHECKING:
    from broker.context import Context

_STEP = 0.1  # seconds that an interrupt may have to wait
_EVENT_GAP = 0.4  # seconds between two events of output
_EVENT_SIZE = 8_000  # characters
_OUTPUT_LIMIT = 200_000  # characters in all events of one program


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
    """The sandboxes of one task."""

    def __init__(self, ctx: "Context", execution: Execution) -> None:
        self._ctx = ctx
        self._execution = execution
        self._open: list[Sandbox] = []
        self._closing = threading.RLock()

    def run(self, command: Sequence[str], seconds: float, limits: dict[str, int]) -> SandboxResult:
        if _starter is None:
            raise RuntimeError("No sandboxes here: broker.execution.sandboxes.set_starter was not called.")
        _refuse_in_event_loop()
        output = _OutputEvents(self._ctx)
        sandbox: Sandbox | None = None
        try:
            with self._ctx.shielded():
                sandbox = _starter(command, seconds=seconds, **limits)
                self._open.append(sandbox)
            while True:
                self._raise_if_stopped()
                with self._ctx.shielded():
                    output.add(sandbox.read(_STEP))
                    if sandbox.ended:
                        return sandbox.result()
        finally:
            with self._ctx.shielded():
                if sandbox is not None:
                    self._close(sandbox)
                output.finish()

    def _raise_if_stopped(self) -> None:
        """Raises the interrupt in threads that the actor has started: only its first thread is interrupted from
        outside."""
        if self._execution.stop is not None and not self._execution.code.runs_here():
            raise self._execution.stop

    def close_all(self) -> None:
        """Closes the sandboxes that an interrupt, or another thread of the task, has left open."""
        with self._closing:
            for sandbox in list(self._open):
                self._close(sandbox)

    def _close(self, sandbox: Sandbox) -> None:
        with self._closing:  # a second thread waits until the first one is done
            if sandbox not in self._open:
                return
            self._open.remove(sandbox)
            if sandbox.ended:
                return
            killed, survivors = sandbox.kill()
            self._ctx.log.info("sandbox killed", killed=killed, survivors=survivors)
            if self._ctx.request is not None:
                self._ctx.receipt("sandbox killed", killed=killed, survivors=survivors)


class _OutputEvents:
    """Emits output as `log` events: a few a second, up to a limit. The result has the whole output."""

    def __init__(self, ctx: "Context") -> None:
        self._ctx = ctx
        self._text = ""
        self._left_out = 0
        self._total = 0
        self._next = 0.0

    def add(self, text: str) -> None:
        room = min(_EVENT_SIZE, _OUTPUT_LIMIT - self._total) - len(self._text)
        self._text += text[: max(room, 0)]
        self._left_out += len(text) - max(min(room, len(text)), 0)
        if time.monotonic() >= self._next:
            self._emit(self._text.rfind("\n") + 1 or (len(self._text) if self._left_out else 0))

    def finish(self) -> None:
        self._emit(len(self._text))
        if self._left_out:
            self._ctx.emit("log", {"text": f"… ({self._left_out} characters are left out here)\n"})

    def _emit(self, end: int) -> None:
        if end:
            self._ctx.emit("log", {"text": self._text[:end]})
            self._text = self._text[end:]
            self._total += end
            self._next = time.monotonic() + _EVENT_GAP


def _refuse_in_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("ctx.sandbox would block the event loop: use `await asyncio.to_thread(ctx.sandbox, …)`.")
