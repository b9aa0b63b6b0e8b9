"""An agent that runs commands."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from broker import Context, agent


class RunInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    command: list[Annotated[str, Field(max_length=100_000)]] = Field(
        min_length=1, max_length=1000, description="The program and its arguments; there is no shell."
    )
    timeout_seconds: float = Field(60, gt=0, le=3500)  # less than the actor's own limit


class RunResult(BaseModel):
    exit_code: int = Field(description="Negative: the signal that ended it.")
    output: str
    truncated: bool
    timed_out: bool
    seconds: float
    sandbox: str = Field(description="The kind that ran it: process, bubblewrap, docker or podman.")
    limit: str | None = Field(description="The limit that ended it: time, memory, processes or disk.")


@agent("command", "run", role="operator")
def run(ctx: Context, request: RunInput) -> RunResult:
    """Runs a command in a sandbox. A nonzero exit code is a result, not a failure of the task."""
    ctx.progress(None, f"Running {request.command[0]}")
    result = ctx.sandbox(request.command, timeout_seconds=request.timeout_seconds)
    return RunResult(
        exit_code=result.exit_code,
        output=result.output,
        truncated=result.truncated,
        timed_out=result.timed_out,
        seconds=result.seconds,
        sandbox=result.kind,
        limit=result.limit,
    )
