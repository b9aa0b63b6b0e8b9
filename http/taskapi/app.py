"""The application: its operations, its middleware, and the parts that live as long as the server."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import Scope

from state.access.caller import Caller
from state.database import close_database, get_database
from state.database.errors import DatabaseUnavailable
from state.database.notifier import flush_hints
from state.errors import StateError
from state.logs import configure_logs
from state.tasks.catalog import load_actors
from state.tracing import configure_tracing, flush_traces
from state.workers.processes import hide_memory, relieve_collector
from taskapi.access.control import AccessControl
from taskapi.api.batcher import Batcher
from taskapi.api.openapi import make_operation
from taskapi.api.operation import Operation, build_routes, find_pages
from taskapi.api.problems import Problem, handle_failure
from taskapi.guard.browser import BrowserGuard
from taskapi.guard.compression import Compression
from taskapi.guard.cors import ConfiguredOrigins
from taskapi.guard.failures import FailureAnswers
from taskapi.guard.headers import SecurityHeaders
from taskapi.guard.json_bodies import JsonBodies
from taskapi.guard.network import NetworkGuard
from taskapi.guard.request_ids import RequestIds
from taskapi.guard.request_log import RequestLog
from taskapi.guard.request_traces import RequestTraces
from taskapi.guard.slashes import TrailingSlashes
from taskapi.guard.slow_bodies import BodyDeadline
from taskapi.metrics.requests import RequestMetrics
from taskapi.resources import (
    actors,
    agent_events,
    agents,
    batches,
    bulk,
    console,
    contents,
    control,
    current_caller,
    deadletters,
    docs,
    gate_use,
    gates,
    generations,
    health,
    keys,
    metrics,
    overview,
    project_queue,
    projects,
    prometheus,
    prompts,
    providers,
    queues,
    schedules,
    stream_tokens,
    submission,
    targets,
    tasks,
    webhook_secrets,
    webhooks,
    workers,
    workflow_control,
    workflow_steps,
    workflows,
)
from taskapi.streams import export, project_stream, queue_stream, task_stream, workflow_stream
from taskapi.streams.channels import Channels
from taskapi.streams.feed import Feed, Pace
from taskapi.streams.queue_stream import QueueWatch

OPERATIONS: list[Operation] = [
    *submission.OPERATIONS,
    *batches.OPERATIONS,
    *bulk.OPERATIONS,
    *export.OPERATIONS,  # before the tasks: its path would be that of one
    *tasks.OPERATIONS,
    *task_stream.OPERATIONS,
    *control.OPERATIONS,
    *webhooks.OPERATIONS,
    *webhook_secrets.OPERATIONS,
    *deadletters.OPERATIONS,
    *queues.OPERATIONS,
    *queue_stream.OPERATIONS,
    *gates.OPERATIONS,
    *gate_use.OPERATIONS,
    *targets.OPERATIONS,
    *project_queue.OPERATIONS,
    *projects.OPERATIONS,
    *project_stream.OPERATIONS,
    *schedules.OPERATIONS,
    *workflows.OPERATIONS,
    *workflow_stream.OPERATIONS,
    *workflow_steps.OPERATIONS,
    *workflow_control.OPERATIONS,
    *workers.OPERATIONS,
    *overview.OPERATIONS,
    *metrics.OPERATIONS,
    *actors.OPERATIONS,
    *agents.OPERATIONS,
    *providers.OPERATIONS,
    *generations.OPERATIONS,
    *prompts.OPERATIONS,
    *agent_events.OPERATIONS,
    *contents.OPERATIONS,
    *keys.OPERATIONS,
    *prometheus.OPERATIONS,
    *health.OPERATIONS,
    *console.OPERATIONS,
    *docs.OPERATIONS,
]
OPERATIONS.append(stream_tokens.make_operation(OPERATIONS))
OPERATIONS.append(current_caller.make_operation(OPERATIONS))
OPERATIONS.append(make_operation(OPERATIONS))


async def _serves_strangers(scope: Scope) -> bool:
    access: AccessControl = scope["app"].state.access
    return await access.serves_strangers()


MIDDLEWARE = [  # from the outside to the inside: a request passes down, its answer up
    Middleware(RequestMetrics),
    Middleware(RequestTraces),
    Middleware(RequestIds),
    Middleware(RequestLog),
    Middleware(SecurityHeaders),
    Middleware(ConfiguredOrigins),
    Middleware(Compression),
    Middleware(FailureAnswers),
    Middleware(TrailingSlashes),
    Middleware(NetworkGuard, serves_strangers=_serves_strangers),
    Middleware(BrowserGuard, pages=find_pages(OPERATIONS)),
    Middleware(JsonBodies),
    Middleware(BodyDeadline),
]

_EXPECTED_FAILURES = (HTTPException, Problem, StateError, DatabaseUnavailable)


def create_app(pace: Pace | None = None, caller: Caller | None = None, *, import_actors: bool = True) -> Starlette:
    """Creates the application. It connects to the database only when the server starts its lifespan. With a `caller`,
    all requests are of this caller, and no key is asked for: only who may do what it may must reach the server.
    Without `import_actors`, none are imported, which takes a while: for requests that need none."""
    configure_logs()
    if import_actors:
        load_actors()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        hide_memory()
        relieve_collector()
        configure_tracing("callboard-server")
        await run_in_threadpool(get_database().pool)
        feed = app.state.feed = Feed(pace or Pace())
        queue_watch = app.state.queue_watch = QueueWatch(feed.pace)
        channels = app.state.channels = Channels(feed.pace.keep_alive, feed.pace.patience)
        access = app.state.access = AccessControl(caller)
        batchers: dict[object, Batcher[Any, Any, Any]] = {}
        app.state.batchers = batchers
        try:
            with _call_on_shutdown_signal(feed.close, queue_watch.close):
                yield
        finally:
            await queue_watch.stop()
            await feed.stop()
            channels.stop()
            await access.stop()
            for batcher in batchers.values():
                await batcher.stop()
            await run_in_threadpool(flush_traces)
            await run_in_threadpool(flush_hints)
            await run_in_threadpool(close_database)

    app = Starlette(
        routes=list(build_routes(OPERATIONS)),
        middleware=MIDDLEWARE,
        exception_handlers=dict.fromkeys((HTTPException, Problem, StateError, DatabaseUnavailable), handle_failure),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # TrailingSlashes removes them: a POST would lose its body in a redirect
    return app


@contextmanager
def _call_on_shutdown_signal(*acts: Callable[[], None]) -> Iterator[None]:
    """Calls `acts` when the process gets SIGINT or SIGTERM. The server waits for open streams before it ends the
    lifespan, and a stream waits for its task, so the streams must be closed by the signal itself."""
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

    replaced = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in replaced:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
