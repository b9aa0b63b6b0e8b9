"""Renders films on a farm that takes one film at a time. A film that was paused, or whose worker died, goes on at the
frame at which it stopped."""

import asyncio

from pydantic import BaseModel, Field

from broker import AsyncContext, task
from state.gates import Gate

FARM = Gate("provider:farm", limit=1)


class Film(BaseModel):
    title: str
    frames: int = Field(10, ge=1)
    seconds_per_frame: float = 0.2


class Rendered(BaseModel):
    title: str
    frames: int
    started_at_frame: int


@task(queue="rendering", gates=lambda _: [FARM], known_gates=lambda: [FARM])
async def render(ctx: AsyncContext, request: Film) -> Rendered:
    """Renders a film, frame by frame."""
    first = ctx.checkpoint.get("frames", 0)
    for frame in range(first, request.frames):
        await asyncio.sleep(request.seconds_per_frame)  # here a real actor would wait for the farm
        await ctx.save(frames=frame + 1)
        ctx.progress(100 * (frame + 1) / request.frames, f"{request.title}: frame {frame + 1}")
    return Rendered(title=request.title, frames=request.frames, started_at_frame=first)
