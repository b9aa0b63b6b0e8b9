"""An actor that runs until the test lets it end: no test has to guess how long the machine takes."""

import time
from pathlib import Path

from pydantic import BaseModel

from broker import Context, task
from tests.support.workers import TEST_ACTORS

CLI_ACTORS = f"{TEST_ACTORS},{__name__}"
"""For CALLBOARD_ACTORS."""


class HoldRequest(BaseModel):
    until: str
    """The file whose existence ends the task."""


@task(queue="test", max_attempts=3)
def hold(ctx: Context, request: HoldRequest) -> str:
    count = 0
    while not Path(request.until).exists():
        count += 1
        ctx.progress(None, f"Step {count}")
        time.sleep(0.05)
    return "done"
