"""The event loop of async actors, in a daemon thread: it does not keep a process alive whose main thread has ended. It
is Dramatiq's, so that plain async actors share it."""

from typing import Any

from dramatiq.asyncio import EventLoopThread, set_event_loop_thread
from dramatiq.middleware import AsyncIO


class LoopThread(EventLoopThread):
    """asyncio hands SystemExit and KeyboardInterrupt of any task to whoever runs the loop, and would end it for all.
    Who awaits that task gets the exception as well."""

    def run(self) -> None:
        try:
            while not self._run_until_stopped():
                pass
        finally:
            self.loop.close()

    def _run_until_stopped(self) -> bool:
        try:
            self.loop.run_forever()
            return True
        except (SystemExit, KeyboardInterrupt):
            self.logger.critical("code on the event loop wanted to exit", exc_info=True)
            return False


class EventLoop(AsyncIO):
    def before_worker_boot(self, broker: Any, worker: Any) -> None:
        thread = LoopThread(self.logger)
        thread.daemon = True
        thread.start(timeout=1.0)
        set_event_loop_thread(thread)
