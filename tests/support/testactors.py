"""Actors that only tests need: quick ones, slow ones, stubborn ones. They tell the outside world through files. Those
that are stopped or fail are in controlactors.py."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dramatiq
import httpx2
from pydantic import BaseModel

from broker import Context, task
from providers.errors import RateLimited, ServiceUnavailable
from state.gates import Gate


class NoteRequest(BaseModel):
    """The work to do, and the file to report to."""

    file: str | None = None
    text: str = ""
    seconds: float = 0
    value: Any = None


def append(file: str | None, text: str) -> None:
    """One write of one line: whole or not at all, whoever else writes."""
    if file:
        with Path(file).open("a") as out:
            out.write(text + "\n")


@task(queue="test")
def noop(ctx: Context, request: NoteRequest) -> None:
    pass


@task(queue="test")
def note(ctx: Context, request: NoteRequest) -> Any:
    append(request.file, f"{ctx.task_id} {os.getpid()} {ctx.attempt} {request.text}")
    return request.value


@task(queue="test", max_attempts=3)
def steps(ctx: Context, request: NoteRequest) -> str:
    """Runs for a while in small steps, so that an interrupt is noticed; writes when it starts and when it ends."""
    append(request.file, f"start {ctx.task_id} {ctx.epoch}")
    deadline = time.monotonic() + request.seconds
    count = 0
    while time.monotonic() < deadline:
        time.sleep(0.01)
        count += 1
        ctx.progress(None, f"step {count}")
    append(request.file, f"end {ctx.task_id} {ctx.epoch}")
    return "done"


@task(queue="test", max_attempts=3)
async def async_steps(ctx: Context, request: NoteRequest) -> str:
    append(request.file, f"start {ctx.task_id} {ctx.epoch}")
    await asyncio.sleep(request.seconds)
    append(request.file, f"end {ctx.task_id} {ctx.epoch}")
    return "done"


@task(queue="test", max_attempts=2)
async def async_timeout(ctx: Context, request: NoteRequest) -> None:
    raise TimeoutError("the far side did not answer")


@task(queue="test", max_attempts=3)
def stubborn(ctx: Context, request: NoteRequest) -> str:
    """One long system call: no exception gets in."""
    append(request.file, f"start {ctx.task_id} {ctx.epoch}")
    time.sleep(request.seconds)
    append(request.file, f"end {ctx.task_id} {ctx.epoch}")
    return "done"


@task(queue="test", max_attempts=2)
def fail(ctx: Context, request: NoteRequest) -> None:
    raise RuntimeError(request.text)


@task(queue="test", max_attempts=2)
def kill_worker(ctx: Context, request: NoteRequest) -> None:
    os.kill(os.getpid(), 9)


@task(queue="test", max_attempts=3)
def zombie(ctx: Context, request: NoteRequest) -> str:
    """After it was stopped past its lease, tries every kind of write."""
    append(request.file, f"start {ctx.epoch}")
    flag = Path(str(request.file) + ".go")
    while ctx.epoch == 1 and not flag.exists():
        time.sleep(0.01)
    if ctx.epoch == 1:
        writes: dict[str, Callable[[], object]] = {
            "progress": lambda: ctx.progress(99, "zombie"),
            "emit": lambda: ctx.emit("zombie", {"epoch": ctx.epoch}),
            "save": lambda: ctx.save(zombie=True),
            "use": lambda: ctx.use(tokens=1000),
        }
        for name, write in writes.items():
            try:
                write()
                append(request.file, f"tried {name}")
            except BaseException as refused:
                append(request.file, f"refused {name} {type(refused).__name__}")
    return f"epoch {ctx.epoch}"


@task(queue="test")
def remember(ctx: Context, request: NoteRequest) -> Any:
    """The first attempt saves and fails; the next one reads."""
    if not ctx.checkpoint:
        ctx.save(paid=request.value)
        raise ConnectionError("after paying")
    return ctx.checkpoint["paid"]


@dramatiq.actor(queue_name="plain", max_retries=0)
def plain(file: str, text: str) -> None:
    append(file, text)


@dramatiq.actor(queue_name="plain", max_retries=0)
def plain_sleep(file: str, seconds: float) -> None:
    append(file, "start")
    time.sleep(seconds)


class GatedRequest(NoteRequest):
    gates: dict[str, int]


@task(
    queue="gated",
    max_attempts=50,
    gates=lambda request: [Gate(key, limit) for key, limit in request.gates.items()],
)
def gated(ctx: Context, request: GatedRequest) -> None:
    """Writes down when it was at its gates, for whoever wants to check them from outside."""
    begun = time.time()
    append(request.file, f"in {','.join(request.gates)} {ctx.task_id} {ctx.epoch} {begun:.6f} {os.getpid()}")
    time.sleep(request.seconds)
    append(request.file, f"out {','.join(request.gates)} {ctx.task_id} {ctx.epoch} {time.time():.6f}")


@task(
    queue="gated",
    max_attempts=4,
    gates=lambda _request: [Gate("provider:flaky", 20, breaker=True)],
    known_gates=lambda: [Gate("provider:flaky", 20, breaker=True)],
)
def flaky(ctx: Context, request: NoteRequest) -> int:
    """Asks a real HTTP server; its answers decide."""
    return _ask(request.text)


@task(queue="gated", max_attempts=1, gates=lambda _request: [Gate("provider:unannounced", 20, breaker=True)])
def unannounced(ctx: Context, request: NoteRequest) -> int:
    """Like flaky, but its gate is named only in the answer to a payload."""
    return _ask(request.text)


def _ask(url: str) -> int:
    answer = httpx2.get(url, timeout=5)
    if answer.status_code == 503:
        raise ServiceUnavailable("503")
    if answer.status_code == 429:
        raise RateLimited("429", retry_after=float(answer.headers["Retry-After"]))
    return answer.status_code


@task(queue="gated", max_attempts=4, gates=lambda _request: [Gate("provider:flaky", 20, breaker=True)])
def flaky_later(ctx: Context, request: NoteRequest) -> int:
    """Asks when a file is there."""
    while not Path(str(request.file)).exists():
        time.sleep(0.01)
    return _ask(request.text)
