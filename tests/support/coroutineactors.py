"""Async actors for tests, and a foreign middleware around them. They write what they do into files of their own."""

import asyncio
import os
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import dramatiq
from dramatiq.middleware import Middleware, MiddlewareError, SkipMessage
from pydantic import BaseModel

from broker import AsyncContext, task
from broker.worker import loop_watch
from state.tasks.catalog import RetryPolicy

_SOON = RetryPolicy(default=(0.05,))
QUEUE = "coroutines"

loop_watch.LET_GO_SECONDS = 1.0  # a coroutine that blocks the loop for longer loses its process


class Wait(BaseModel):
    journal: str
    seconds: float = 0
    until: str | None = None  # a file
    name: str = ""


def note(request: Wait, line: str) -> None:
    """One write of a whole line: many processes share the file."""
    file = os.open(request.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _exists(request: Wait) -> bool:
    return Path(request.until or "").exists()


@task(queue=QUEUE, max_attempts=5, policy=_SOON)
async def waits(ctx: AsyncContext, request: Wait) -> int:
    note(request, f"begin {ctx.task_id}")
    while request.until is not None and not _exists(request):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    await asyncio.sleep(request.seconds)
    note(request, f"end {ctx.task_id}")
    return threading.get_ident()


@task(queue=QUEUE, max_attempts=1)
async def sleeps(ctx: AsyncContext, request: Wait) -> None:
    await asyncio.sleep(request.seconds)


@task(queue=QUEUE, max_attempts=1)
def sits(ctx: Any, request: Wait) -> int:
    """A sync actor of the same queue."""
    note(request, f"sits {ctx.task_id}")
    while request.until is not None and not Path(request.until).exists():
        time.sleep(0.05)
    return threading.get_ident()


@task(queue=QUEUE, max_attempts=1)
async def stubborn_coroutine(ctx: AsyncContext, request: Wait) -> str:
    """Catches its cancellation and goes on."""
    note(request, f"begin {ctx.task_id}")
    while not _exists(request):
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            note(request, f"caught {ctx.task_id}")
    return "went on"


@task(queue=QUEUE, max_attempts=2, policy=RetryPolicy(default=(3600,)))
async def blocks_loop(ctx: AsyncContext, request: Wait) -> None:
    """Blocks the event loop, in a task that its code has started."""
    note(request, f"blocks {ctx.task_id}")
    await asyncio.create_task(_block(request))


async def _block(request: Wait) -> None:
    await asyncio.sleep(0.1)
    time.sleep(request.seconds)  # noqa: ASYNC251  (that is the point)


@task(queue=QUEUE, max_attempts=1)
async def books(ctx: AsyncContext, request: Wait) -> str:
    """Writes a row of its own with its completion."""
    async with ctx.transaction("booked") as conn:
        note(request, f"inside {ctx.task_id}")
        await conn.execute("INSERT INTO bookings VALUES (%s)", [ctx.task_id])
        await asyncio.sleep(request.seconds)
        found = await conn.execute("SELECT count(*) AS n FROM bookings WHERE task_id = %s", [ctx.task_id])
        assert found.fetchone() == {"n": 1}
        note(request, f"left {ctx.task_id}")
    return "ignored"


@task(queue=QUEUE, max_attempts=1)
async def books_in_a_thread(ctx: AsyncContext, request: Wait) -> str:
    """Sync code with a transaction, as agents may have."""

    def book(context: Any) -> None:
        note(request, f"begin {context.task_id}")
        with context.transaction("booked") as conn:
            note(request, f"inside {context.task_id}")
            conn.execute("INSERT INTO bookings VALUES (%s)", [context.task_id])
            while not _exists(request):
                time.sleep(0.02)

    await ctx.call(book)
    return "ignored"


@task(queue=QUEUE, max_attempts=1)
async def saves(ctx: AsyncContext, request: Wait) -> None:
    await ctx.save(saved=True)


@task(queue=QUEUE, max_attempts=1)
async def books_and_asks(ctx: AsyncContext, request: Wait) -> dict[str, str]:
    """Calls verbs inside its transaction that need another connection."""
    refused = {}
    calls = {
        "save": lambda: ctx.save(a=1),
        "recall": lambda: ctx.recall("a"),
        "sandbox": lambda: ctx.sandbox(["true"]),
        "workspace": lambda: ctx.workspace().__aenter__(),
        "require_gates": lambda: ctx.require_gates([]),
    }
    async with ctx.transaction() as _:
        for name, call in calls.items():
            try:
                await call()
            except RuntimeError as error:
                refused[name] = str(error)
        await ctx.emit("note", {"text": "inside"})
        ctx.result = refused
    return refused


@task(queue=QUEUE, max_attempts=1)
async def uses_all_verbs(ctx: AsyncContext, request: Wait) -> dict[str, Any]:
    ctx.progress(10, "Begun")
    await ctx.save(one=1)
    ctx.save(two=2)  # a verb that nobody awaits is not lost
    await asyncio.to_thread(ctx.save, three=3)
    for number in range(1500):  # more than are kept unwritten
        await ctx.emit("token", {"text": str(number)})
    ctx.emit("token", {"text": "last"})
    ctx.use(tokens=3)
    ran = await ctx.sandbox(["echo", "hello"])
    try:
        await asyncio.wait_for(ctx.sandbox(["sleep", "60"]), 0.3)
        cut = "no"
    except TimeoutError:
        cut = "yes"
    async with ctx.workspace() as workspace:
        await workspace.write("a.txt", b"text")
        shown = await workspace.run(["cat", "a.txt"])
        listed = await workspace.list()
    here = threading.get_ident()
    other = await ctx.call(lambda context: threading.get_ident() if context.task_id == ctx.task_id else 0)
    return {
        "checkpoint": dict(ctx.checkpoint), "output": ran.output, "cut": cut, "shown": shown.output, "listed": listed,
        "in another thread": other not in (0, here),
    }  # fmt: skip


@task(queue=QUEUE, max_attempts=1)
async def calls_sync_code(ctx: AsyncContext, request: Wait) -> str:
    def work(context: Any) -> str:
        note(request, f"begin {context.task_id}")
        while True:
            time.sleep(0.02)

    return await ctx.call(work)


@task(queue=QUEUE, max_attempts=2, policy=_SOON)
async def leaves_children(ctx: AsyncContext, request: Wait) -> None:
    """Fails while something that it has started goes on."""

    async def go_on() -> None:
        note(request, f"began {ctx.epoch}")
        try:
            await asyncio.sleep(600)
        finally:
            note(request, f"gone {ctx.epoch}")

    async def fail() -> None:
        await asyncio.sleep(0.05)
        raise ValueError("no")

    await asyncio.gather(go_on(), fail())


@task(queue=QUEUE, max_attempts=1)
async def exits_in_a_child(ctx: AsyncContext, request: Wait) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    await asyncio.wait_for(leave(), 60)


@task(queue=QUEUE, max_attempts=1)
async def books_late(ctx: AsyncContext, request: Wait) -> None:
    """Uses the connection of its transaction after the end of the block."""
    async with ctx.transaction() as conn:
        pass
    try:
        await conn.execute("INSERT INTO bookings VALUES (%s)", [ctx.task_id])
    except RuntimeError as refused:
        note(request, f"refused {refused}")


@task(queue=QUEUE, max_attempts=1)
async def sits_in_a_group(ctx: AsyncContext, request: Wait) -> None:
    def sit(context: Any) -> None:
        note(request, f"begin {context.task_id}")
        while True:
            time.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.call(sit))


_message: ContextVar[str | None] = ContextVar("message", default=None)


@task(queue="hooked", max_attempts=1)
async def hooked(ctx: AsyncContext, request: Wait) -> str | None:
    note(request, f"code {request.name}")
    await asyncio.sleep(request.seconds)
    if request.name == "fails":
        raise ValueError("as it was asked to")
    return _message.get()


@task(queue="hooked", max_attempts=1)
def hooked_thread(ctx: Any, request: Wait) -> None:
    note(request, f"code {request.name}")


class Foreign(Middleware):
    """Does as CALLBOARD_TEST_HOOKS says: a journal, and names of tasks by their ids in it."""

    def before_process_message(self, broker: Any, message: Any) -> None:
        self._note(f"before {message.message_id}")
        self._token = None
        _message.set(message.message_id)
        what = self._what(message)
        if what == "skip":
            raise SkipMessage("not today")
        if what == "middleware error":
            raise MiddlewareError("not at all")
        if what == "error":
            raise ValueError("a bug of the middleware")
        if what == "block":
            time.sleep(1.5)

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        self._note(f"after {message.message_id} {_message.get()} {type(exception).__name__}")

    def after_skip_message(self, broker: Any, message: Any) -> None:
        self._note(f"skipped {message.message_id}")

    def _what(self, message: Any) -> str:
        file = Path(os.environ["CALLBOARD_TEST_HOOKS"] + ".what")
        return dict(line.split("=") for line in file.read_text().splitlines()).get(message.message_id, "")

    def _note(self, line: str) -> None:
        note(Wait(journal=os.environ["CALLBOARD_TEST_HOOKS"]), line)


if "CALLBOARD_TEST_HOOKS" in os.environ:
    dramatiq.get_broker().add_middleware(Foreign())
