"""Workers: the list of worker processes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from state.settings import get_settings
from state.workers.registry import list_workers
from taskapi.api.bodies import send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Page
from taskapi.api.verbs import run_verb


class WorkerView(BaseModel):
    id: str
    host: str
    pid: int
    queues: list[str]
    threads: int
    coroutines: int
    running: int
    started_at: datetime
    seen_at: datetime
    silent_seconds: float
    alive: bool

    @classmethod
    def of(cls, row: Mapping[str, Any], lease_seconds: float) -> "WorkerView":
        known = {name: row[name] for name in cls.model_fields if name in row}
        return cls.model_construct(**convert_to_utc(known), alive=row["silent_seconds"] < lease_seconds)


async def get_list(request: Request) -> Response:
    rows = await run_verb(request, list_workers)
    lease_seconds = get_settings().lease_seconds
    return send_json(Page[WorkerView](items=[WorkerView.of(row, lease_seconds) for row in rows]))


OPERATIONS = [
    Operation(
        "GET", f"{PREFIX}/workers", get_list, "List the workers", {200: Page[WorkerView]}, role="operator", scope="all"
    ),
]
