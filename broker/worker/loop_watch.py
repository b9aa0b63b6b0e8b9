"""The watch over the event loop: asks it a few times a second whether it still answers. A coroutine that blocks it
keeps all others from going on. It is named in the log and in the history of its task. If it does not let go, the
process is replaced: the task of that coroutine fails, the others are released and lose no attempt."""

import threading
import time
from collections.abc import Callable

from dramatiq.asyncio import EventLoopThread

from broker.execution.coroutines import Coroutines
from broker.execution.execution import Execution
from broker.execution.interruptible import describe_frame, frame_of
from broker.worker import watchdog
from state.logs import log

_EVERY = 0.25
BLOCKED_SECONDS = 1.0  # without an answer of the loop; then the coroutine that runs is named
LET_GO_SECONDS = watchdog.OVERDUE_SECONDS  # from then on; then the process is replaced, as for code that does not stop


class LoopWatch:
    def __init__(self, coroutines: Coroutines, event_loop: EventLoopThread, replace: Callable[[str], None]) -> None:
        self._coroutines = coroutines
        self._event_loop = event_loop
        self._replace = replace
        self._answered = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.wait(_EVERY):
            try:
                self._ask()
            except Exception:
                log.exception("the watch over the event loop: unexpected error", worker=self._coroutines.held.worker)

    def _ask(self) -> None:
        if self._coroutines.loop.is_closed():
            self._replace("the event loop has ended")
            self._stopping.set()
            return
        asked = time.monotonic()
        self._answered.clear()
        self._coroutines.loop.call_soon_threadsafe(self._answered.set)
        if self._answered.wait(BLOCKED_SECONDS):
            return
        culprit, where = self._name()
        waits = 0  # counted, since the whole process may have been suspended
        while not self._answered.wait(_EVERY) and not self._stopping.is_set():
            waits += 1
            if waits * _EVERY >= LET_GO_SECONDS:
                _clear(culprit)
                self._name()  # another one may block it by now
                self._replace("a coroutine blocks the event loop")
                self._stopping.set()
                return
        _clear(culprit)
        log.warning("the event loop answers again", seconds=round(time.monotonic() - asked, 1), where=where)

    def _name(self) -> tuple[Execution | None, str]:
        """Finds the coroutine that blocks the loop, and says so. None: it is no task's, but that of a plain actor."""
        culprit = self._coroutines.find_current()
        where = describe_frame(frame_of(self._event_loop.ident or 0))
        claimed = culprit.claimed if culprit is not None else None
        log.error(
            "a coroutine blocks the event loop",
            where=where,
            worker=self._coroutines.held.worker,
            task_id=claimed and claimed.id,
            actor=claimed and claimed.actor,
        )
        if culprit is not None:
            culprit.blocks_loop_at = where  # whatever replaces the process from now on, this is the reason
            culprit.add_event(
                "log", {"text": f"The coroutine blocks the event loop, which it shares with others, at {where}.\n"}
            )
            self._coroutines.held.wakeup.set()
        return culprit, where


def _clear(culprit: Execution | None) -> None:
    if culprit is not None:
        culprit.blocks_loop_at = None
