"""Agents that go on when the test wants it."""

import time
from pathlib import Path

from pydantic import BaseModel

from broker import Context, agent
from state.http_errors import Category


class PageMissing(Exception):
    category: Category = "permanent"


class Asked(BaseModel):
    title: str = "A lighthouse"
    waits_for: str | None = None  # a file
    fails_while: str | None = None  # as long as this file exists


class Made(BaseModel):
    title: str
    exact: int = 2**63 + 1


@agent("studio", "make")
def make(ctx: Context, request: Asked) -> Made:
    """Makes something of a title."""
    if request.waits_for is not None:
        ctx.progress(40, f"makes {request.title}")
        while not Path(request.waits_for).exists():
            time.sleep(0.02)
    if request.fails_while is not None and Path(request.fails_while).exists():
        raise PageMissing(f"{request.title}: page 7 is missing")
    return Made(title=request.title)
