"""Agents that keep a diary outside the database: a line when they begin, and one when they end."""

import asyncio
import os
import time
from pathlib import Path

from pydantic import BaseModel

from broker import Context, agent
from state.gates import Gate

GATE = "provider:diary"


class Entry(BaseModel):
    diary: str = ""
    name: str = ""
    seconds: float = 0
    hold: str | None = None  # waits until there is such a file
    fails: bool = False
    tokens: int = 0
    saves: bool = False


class Written(BaseModel):
    name: str
    seen: int = 0  # how often the checkpoint was saved before


def _note(entry: Entry, what: str) -> None:
    if entry.diary:
        with Path(entry.diary).open("a") as file:
            file.write(f"{what} {entry.name} {os.getpid()}\n")


@agent("diary", "write", priority="low")
def write(ctx: Context, entry: Entry) -> Written:
    _note(entry, "begin")
    seen = int(ctx.checkpoint.get("seen", 0))
    if entry.saves:
        ctx.save(seen=seen + 1)
    ctx.use(tokens=entry.tokens)
    time.sleep(entry.seconds)
    while entry.hold is not None and not Path(entry.hold).exists():
        time.sleep(0.02)
    if entry.fails:
        raise ValueError(f"{entry.name} has failed")
    _note(entry, "end")
    return Written(name=entry.name, seen=seen)


@agent("diary", "await")
async def write_later(ctx: Context, entry: Entry) -> Written:
    _note(entry, "begin")
    await asyncio.sleep(entry.seconds)
    _note(entry, "end")
    return Written(name=entry.name)


@agent("diary", "gated", gates=lambda entry: [Gate(GATE, 1)])
def write_gated(ctx: Context, entry: Entry) -> Written:
    return write(ctx, entry)
