"""Agents that tests of the memory need."""

import asyncio

from pydantic import BaseModel

from broker import Context, agent


class Shelf(BaseModel):
    text: str


class Done(BaseModel):
    summary: str


class Remembered(BaseModel):
    texts: list[str]
    method: str
    note: str | None


@agent("librarian", "shelve")
def shelve(ctx: Context, request: Shelf) -> Done:
    """Completes its task in a transaction of its own."""
    done = Done(summary=f"shelved {request.text}")
    with ctx.transaction(done):
        pass
    return done


@agent("librarian", "remember")
def remember(ctx: Context, request: Shelf) -> Remembered:
    found = ctx.recall(request.text, limit=3)
    return Remembered(texts=[event.text for event in found.items], method=found.method, note=found.note)


@agent("librarian", "remember_async")
async def remember_async(ctx: Context, request: Shelf) -> Remembered:
    found = await asyncio.to_thread(ctx.recall, request.text, limit=3)
    return Remembered(texts=[event.text for event in found.items], method=found.method, note=found.note)
