"""Actors that write down what they do (see journal.py): quick ones, slow ones, and such as do not stop when told to."""

import asyncio
import ctypes
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from pydantic import BaseModel

from broker import Context, agent, task
from deploy.prove.journal import Record, now, recording, saved_name
from state.errors import LeaseLost
from state.gates import Gate
from state.http_errors import Category
from state.tasks.catalog import RetryPolicy

QUEUE = "journal"
_SOON = RetryPolicy(default=(0.2, 0.5, 1.0))
_STEP = 0.02
_BETWEEN_CALLS = 0.1
_C = ctypes.PyDLL(None)  # the C library, called with the interpreter's lock held
_REFUSALS = 5  # refused calls after which the code believes it


class JournalRequest(BaseModel):
    journal: str
    seconds: float = 0
    gates: dict[str, int | None] = {}
    target: str | None = None  # the task's own, repeated here for the journal
    mark: str | None = None  # of one submit: two tasks with it are one too many
    fails: int = 0  # executions of this task that end with an error that no retry helps against


class Refused(Exception):
    category: Category = "permanent"


def _gates(request: JournalRequest) -> list[Gate]:
    return [Gate(key, limit) for key, limit in request.gates.items()]


def _recorded(ctx: Context, request: JournalRequest) -> AbstractContextManager[Record]:
    return recording(Record(request.journal, ctx.task_id, ctx.epoch, request.gates, request.target))


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_quick(ctx: Context, request: JournalRequest) -> str:
    """Quick, or (with seconds) as slow as it is told, in small steps."""
    with _recorded(ctx, request):
        _work(request.seconds)
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_slow(ctx: Context, request: JournalRequest) -> str:
    with _recorded(ctx, request):
        _work(request.seconds)
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_fails(ctx: Context, request: JournalRequest) -> str:
    """Dies at first; somebody has to revive it."""
    with _recorded(ctx, request):
        _work(request.seconds)
        if ctx.attempt <= request.fails:
            raise Refused(f"attempt {ctx.attempt} of a task that fails at first")
    return "done"


class Done(BaseModel):
    done: bool = True


@agent("journal", "work")
def journal_agent(ctx: Context, request: JournalRequest) -> Done:
    """For steps of workflows and items of projects."""
    with _recorded(ctx, request):
        _work(request.seconds)
        if ctx.attempt <= request.fails:
            raise Refused(f"attempt {ctx.attempt} of a step that fails at first")
    return Done()


def _work(seconds: float) -> None:
    """In steps that are counted: one that was stopped has still to do what it had to do before."""
    for _ in range(round(seconds / _STEP)):
        time.sleep(_STEP)


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
async def journal_async(ctx: Context, request: JournalRequest) -> str:
    with _recorded(ctx, request):
        await asyncio.sleep(request.seconds)
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_block(ctx: Context, request: JournalRequest) -> str:
    """One long system call: no exception gets in."""
    with _recorded(ctx, request):
        time.sleep(request.seconds)
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_interpreter(ctx: Context, request: JournalRequest) -> str:
    """One call that keeps the interpreter's lock: no thread of the process runs meanwhile."""
    with _recorded(ctx, request):
        _C.usleep(int(request.seconds * 1_000_000))
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_child(ctx: Context, request: JournalRequest) -> str:
    """Waits for a program that it has started, in one system call."""
    with _recorded(ctx, request):
        child = subprocess.Popen(["sleep", str(request.seconds)])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        child.wait()
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_swallow(ctx: Context, request: JournalRequest) -> str:
    """Nothing stops it but its own end."""
    with _recorded(ctx, request):
        steps = round(request.seconds / _STEP)
        while steps > 0:
            try:
                steps -= 1
                time.sleep(_STEP)
            except BaseException:
                continue
    return "done"


@task(queue=QUEUE, max_attempts=50, policy=_SOON, gates=_gates)
def journal_calls(ctx: Context, request: JournalRequest) -> str:
    """Makes every kind of call again and again, and writes down which of them were refused. It does not stop at the
    first refusal, as badly written code does not."""
    with _recorded(ctx, request) as record:
        refusals = 0
        for number in range(1, round(request.seconds / _BETWEEN_CALLS) + 1):
            for name, call in _calls(ctx, number).items():
                refusals += not _try_call(record, name, number, call)
            if refusals >= _REFUSALS:
                raise LeaseLost(ctx.task_id, ctx.epoch)
            time.sleep(_BETWEEN_CALLS)
    return "done"


def _calls(ctx: Context, number: int) -> dict[str, Callable[[], Any]]:
    return {
        "progress": lambda: ctx.progress(None, f"epoch {ctx.epoch} step {number}"),
        "emit": lambda: ctx.emit("journal", {"epoch": ctx.epoch, "number": number}),
        "save": lambda: ctx.save(**{saved_name(ctx.epoch, number): now()}),
        "use": lambda: ctx.use(tokens=1),
    }


def _try_call(record: Record, name: str, number: int, call: Callable[[], Any]) -> bool:
    at = now()
    try:
        call()
    except Exception as refused:
        record.call(name, number, at, type(refused).__name__)
        return False
    except BaseException as interrupt:
        record.call(name, number, at, type(interrupt).__name__)
        raise
    record.call(name, number, at, "ok")
    return True
