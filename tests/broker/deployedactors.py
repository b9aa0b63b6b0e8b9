"""Actors of a release that names other gates than the release before: it depends on the environment of the process."""

import os
import time
from uuid import uuid4

from pydantic import BaseModel

from broker import Context, task
from state.gates import Gate
from tests.support.testactors import append

QUEUE = "deployed"


class Work(BaseModel):
    file: str
    seconds: float = 0.1


def _name_gates(_: Work) -> list[Gate]:
    key = os.environ.get("TEST_DEPLOYED_GATE")
    return [Gate(key, 1)] if key else []


def _name_random_gates(_: Work) -> list[Gate]:
    return [Gate(f"random:{uuid4()}", 1)] if "TEST_DEPLOYED_GATE" in os.environ else []


@task(queue=QUEUE, gates=_name_gates)
def exclusive(ctx: Context, request: Work) -> None:
    append(request.file, f"begin {ctx.task_id}")
    time.sleep(request.seconds)
    append(request.file, f"end {ctx.task_id}")


@task(queue=QUEUE, gates=_name_random_gates)
def capricious(ctx: Context, request: Work) -> None:
    append(request.file, f"begin {ctx.task_id}")
