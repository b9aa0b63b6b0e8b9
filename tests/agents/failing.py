"""An agent that never succeeds."""

from pydantic import BaseModel

from broker import Context, agent


class Nothing(BaseModel):
    pass


@agent("failing", "always")
def fail(ctx: Context, request: Nothing) -> Nothing:
    raise RuntimeError(f"attempt {ctx.attempt} of {ctx.max_attempts}")
