"""The application: routes, what every request passes, and what lives as long as the server does."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import current_thread, main_thread
from types import FrameType

import psycopg
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from state.database.notifier import flush_notifications
from state.database.pool import close_database, get_database
from state.errors import StateError
from state.logs import configure_logs
from state.tasks.catalog import load_actors
from taskapi.entrance import Entrance
from taskapi.feed import Feed, Pace
from taskapi.home import get_home, get_openapi
from taskapi.problems import Problem, respond
from taskapi.queuewatch import QueueWatch
from taskapi.routes import routes


def create_app(pace: Pace | None = None) -> Starlette:
    """Connects to nothing: that is for the lifespan."""
    configure_logs()
    load_actors()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(get_database().pool)
        feed = app.state.feed = Feed(pace or Pace())
        queue_watch = app.state.queue_watch = QueueWatch(feed.pace)
        try:
            with _told_of_shutdown(feed.close, queue_watch.close):
                yield
        finally:
            await queue_watch.stop()
            await feed.stop()
            await run_in_threadpool(flush_notifications)
            await run_in_threadpool(close_database)

    app = Starlette(
        routes=[*routes(), Route("/openapi.json", get_openapi), Route("/", get_home)],
        middleware=[Middleware(Entrance)],
        exception_handlers=dict.fromkeys((HTTPException, Problem, StateError, psycopg.OperationalError), respond),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # the entrance takes them off: a redirected POST loses its body
    return app


@contextmanager
def _told_of_shutdown(*acts: Callable[[], None]) -> Iterator[None]:
    """A server that is told to stop waits for its streams to end before it says so to the application; and the
    streams wait for their tasks. So we listen to the same signals."""
    if current_thread() is not main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: FrameType | None) -> None:
        for act in acts:
            loop.call_soon_threadsafe(act)
        handler = handlers[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    served = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in served:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in served.items():
            signal.signal(number, handler)
