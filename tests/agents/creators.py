"""Agents that try to create tasks, in every place where their code can run, and an actor that may."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from pydantic import BaseModel

import state
from broker import AsyncContext, Context, agent, task
from state.tasks.new_task import NewTask
from state.tasks.submission import submit_new
from tests.support.testactors import note, plain

SHARED = ThreadPoolExecutor(1)  # its only thread is started by whoever comes first


class Attempts(BaseModel):
    file: str  # where a plain message would write
    wait_for: str | None = None  # stays until this file exists


class Outcomes(BaseModel):
    outcomes: dict[str, str]


def try_to(create: Callable[[], Any]) -> str:
    try:
        create()
    except Exception as refused:
        return type(refused).__name__
    return "created"


def submit_one() -> None:
    state.submit("note", {"text": "from an agent"})


def in_thread(make: Callable[[Callable[[], None]], threading.Thread]) -> str:
    outcome: SimpleQueue[str] = SimpleQueue()
    thread = make(lambda: outcome.put(try_to(submit_one)))
    thread.start()
    thread.join()
    return outcome.get(timeout=10)


def in_new_pool() -> str:
    with ThreadPoolExecutor(2) as pool:
        return pool.submit(try_to, submit_one).result(10)


def in_initializer() -> str:
    outcome: SimpleQueue[str] = SimpleQueue()
    with ThreadPoolExecutor(1, initializer=lambda put: put(try_to(submit_one)), initargs=(outcome.put,)) as pool:
        pool.submit(int).result(10)
    return outcome.get(timeout=10)


def in_done_callback() -> str:
    outcome: SimpleQueue[str] = SimpleQueue()
    release = threading.Event()
    future: Future[Any] = SHARED.submit(release.wait, 10)
    future.add_done_callback(lambda _: outcome.put(try_to(submit_one)))
    release.set()
    return outcome.get(timeout=10)


def in_nested_thread() -> str:
    return in_thread(lambda act: threading.Thread(target=lambda: in_thread_of_pool(act)))


def in_thread_of_pool(act: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result(10)


def wait_for(file: str | None) -> None:
    deadline = time.monotonic() + 60
    while file is not None and not Path(file).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


@agent("creator", "threads")
def create_in_threads(ctx: Context, request: Attempts) -> Outcomes:
    new = NewTask("note", {"text": "from an agent"})
    outcomes = {
        "shared pool": SHARED.submit(try_to, submit_one).result(10),  # first: starts the pool's thread
        "submit": try_to(submit_one),
        "submit_new": try_to(lambda: submit_new(new)),
        "submit_many": try_to(lambda: state.submit_many([new])),
        "send": try_to(lambda: note.send({"text": "from an agent"})),
        "send_with_options": try_to(lambda: note.send_with_options(args=({"text": "from an agent"},), delay=10)),
        "plain send": try_to(lambda: plain.send(request.file, "from an agent")),
        "thread": in_thread(lambda act: threading.Thread(target=act)),
        "timer": in_thread(lambda act: threading.Timer(0.01, act)),
        "nested": in_nested_thread(),
        "pool": in_new_pool(),
        "initializer": in_initializer(),
        "map": next(iter(SHARED.map(try_to, [submit_one]))),
        "done callback": in_done_callback(),
    }
    ctx.emit("tried", outcomes)
    wait_for(request.wait_for)
    return Outcomes(outcomes=outcomes)


@agent("creator", "coroutines")
async def create_in_coroutines(ctx: Context, request: Attempts) -> Outcomes:
    loop = asyncio.get_running_loop()

    async def called_by(schedule: Callable[[Callable[[], None]], object]) -> str:
        future: asyncio.Future[str] = loop.create_future()
        schedule(lambda: future.set_result(try_to(submit_one)))
        return await asyncio.wait_for(future, 10)

    async def create() -> str:
        return try_to(submit_one)

    ways: dict[str, Awaitable[str]] = {
        "coroutine": create(),
        "task": asyncio.create_task(create()),
        "to_thread": asyncio.to_thread(try_to, submit_one),
        "default executor": loop.run_in_executor(None, try_to, submit_one),
        "shared pool": loop.run_in_executor(SHARED, try_to, submit_one),
        "call_soon": called_by(loop.call_soon),
        "call_later": called_by(lambda act: loop.call_later(0.01, act)),
        "call_soon_threadsafe": called_by(
            lambda act: threading.Thread(target=loop.call_soon_threadsafe, args=[act]).start()
        ),
        "thread": asyncio.to_thread(in_thread, lambda act: threading.Thread(target=act)),
    }
    outcomes = {way: await outcome for way, outcome in ways.items()}
    ctx.emit("tried", outcomes)
    await asyncio.to_thread(wait_for, request.wait_for)
    return Outcomes(outcomes=outcomes)


@agent("creator", "careless")
def create_carelessly(ctx: Context, request: Attempts) -> Outcomes:
    submit_one()
    return Outcomes(outcomes={})


@agent("creator", "careless_async")
async def create_carelessly_async(ctx: Context, request: Attempts) -> Outcomes:
    await asyncio.to_thread(submit_one)
    return Outcomes(outcomes={})


@task(queue="test", max_attempts=1)
def fan_out(ctx: Context, request: Attempts) -> Outcomes:
    """An actor that may create tasks."""
    outcomes = {
        "submit": try_to(submit_one),
        "send": try_to(lambda: note.send({"text": "allowed"})),
        "plain send": try_to(lambda: plain.send(request.file, "allowed")),
        "thread": in_thread(lambda act: threading.Thread(target=act)),
        "pool": in_new_pool(),
        "initializer": in_initializer(),
        "shared pool": SHARED.submit(try_to, submit_one).result(10),
        "done callback": in_done_callback(),
    }
    return Outcomes(outcomes=outcomes)


@task(queue="test", max_attempts=1)
async def async_fan_out(ctx: AsyncContext, request: Attempts) -> Outcomes:
    loop = asyncio.get_running_loop()
    outcomes = {
        "coroutine": try_to(submit_one),
        "function": await ctx.call(lambda _: try_to(submit_one)),
        "to_thread": await asyncio.to_thread(try_to, submit_one),
        "default executor": await loop.run_in_executor(None, try_to, submit_one),
        "shared pool": await loop.run_in_executor(SHARED, try_to, submit_one),
    }
    return Outcomes(outcomes=outcomes)
