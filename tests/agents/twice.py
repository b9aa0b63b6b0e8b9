"""Declares an agent that is built in already."""

from broker import Context, agent
from tests.agents.failing import Nothing


@agent("text", "extract")
def extract_otherwise(ctx: Context, request: Nothing) -> Nothing:
    return request
