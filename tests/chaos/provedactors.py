"""Actors of somebody who proves them: a sync one, an async one, one that fails for good, one that needs a payload."""

import asyncio
import time

from pydantic import BaseModel

from broker import AsyncContext, Context, task
from state.gates import Gate
from state.http_errors import Category


class Empty(BaseModel):
    seconds: float = 0.3


class Needy(BaseModel):
    what: str


class Refused(Exception):
    category: Category = "permanent"


@task(queue="proved", gates=lambda _: [Gate("provider:proved", 2)])
def proved_thread(ctx: Context, request: Empty) -> str:
    steps = round(request.seconds / 0.05)
    for step in range(steps):
        ctx.progress(100 * step / steps)
        time.sleep(0.05)
    return "done"


@task(queue="proved")
async def proved_coroutine(ctx: AsyncContext, request: Empty) -> str:
    await asyncio.sleep(request.seconds)
    ctx.use(tokens=7)
    return "done"


@task(queue="proved")
def proved_failure(ctx: Context, request: Empty) -> str:
    raise Refused("as always")


@task(queue="proved")
def proved_needy(ctx: Context, request: Needy) -> str:
    return request.what
