"""Actors that processes of both releases know. They note in a journal which code ran which task in which epoch."""

import asyncio
import os
import time
from pathlib import Path

from pydantic import BaseModel

import state
from broker import Context, task
from state.gates import Gate

TREE = Path(str(state.__file__)).parents[1]


class Lines(BaseModel):
    count: int = 5
    seconds: float = 0.02  # for each
    gates: dict[str, int] = {}


def note(*words: object) -> None:
    """Writes one line at once, so that lines of several processes do not mix."""
    with Path(os.environ["JOURNAL"]).open("a") as journal:
        journal.write(" ".join(map(str, words)) + "\n")


note("loaded", TREE, os.getpid(), "-")


def _gates(request: Lines) -> list[Gate]:
    return [Gate(key, limit) for key, limit in request.gates.items()]


@task(queue="journal", max_attempts=3, gates=_gates)
def says(ctx: Context, request: Lines) -> int:
    note("begin", TREE, ctx.task_id, ctx.epoch)
    for number in range(request.count):
        time.sleep(request.seconds)
        ctx.emit("token", {"text": number})
        ctx.use(tokens=1)
        ctx.progress(number, f"line {number}")
        ctx.save(line=number)
    note("end", TREE, ctx.task_id, ctx.epoch)
    return request.count


@task(queue="journal", max_attempts=3, gates=_gates)
async def says_async(ctx: Context, request: Lines) -> int:
    note("begin", TREE, ctx.task_id, ctx.epoch)
    for number in range(request.count):
        await asyncio.sleep(request.seconds)
        ctx.emit("token", {"text": number})
        ctx.use(tokens=1)
    note("end", TREE, ctx.task_id, ctx.epoch)
    return request.count


@task(queue="journal", max_attempts=1)
def dies(ctx: Context, request: Lines) -> None:
    note("begin", TREE, ctx.task_id, ctx.epoch)
    raise RuntimeError("as it was asked to")


@task(queue="journal", max_attempts=3)
def holds(ctx: Context, request: Lines) -> int:
    """Emits tokens until the file beside the journal exists."""
    note("begin", TREE, ctx.task_id, ctx.epoch)
    number = 0
    while not Path(os.environ["JOURNAL"] + ".go").exists():
        ctx.emit("token", {"text": number})
        number += 1
        time.sleep(0.05)
    note("end", TREE, ctx.task_id, ctx.epoch)
    return number
