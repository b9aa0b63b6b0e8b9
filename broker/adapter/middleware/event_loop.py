"""Dramatiq's event loop for async actors, in a daemon thread: it does not keep a process alive whose main thread has
ended."""

from typing import Any

from dramatiq.asyncio import EventLoopThread, set_event_loop_thread
from dramatiq.middleware import AsyncIO


class EventLoop(AsyncIO):
    def before_worker_boot(self, broker: Any, worker: Any) -> None:
        thread = EventLoopThread(self.logger)
        thread.daemon = True
        thread.start(timeout=1.0)
        set_event_loop_thread(thread)
