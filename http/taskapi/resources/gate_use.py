"""How a gate is used: over the last hour, by which tasks, who waits for it, and what was changed. The gate is a
parameter of the query, as its key may have any characters: a path such as /gates/a/holders may be a gate as well."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.database import Row
from state.gates.reads import LinePlace, list_changes, list_holders, list_samples, list_waiters
from state.tasks.ids import is_task_id
from taskapi.api.bodies import send_json
from taskapi.api.moments import Moment, convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import MAX_LIMIT, Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.verbs import run_verb

_View = TypeVar("_View", bound=BaseModel)
_MAX_ID = 2**63 - 1


class GateSample(BaseModel):
    at: datetime
    running: int
    waiting: int = Field(description="The length of the line, counted up to 10,000.")
    max_concurrent: int | None
    closed_by: Literal["paused", "closed", "breaker_open", "breaker_half_open"] | None = Field(
        description="What let no task start, whatever the limit."
    )


class GateSamples(BaseModel):
    """Samples of the last hour, oldest first: every ten seconds while the gate is in use or has a line, and a last one
    when it is at rest."""

    items: list[GateSample]


class GateHolder(BaseModel):
    """A running task that has a place at the gate."""

    task_id: str
    actor: str
    queue: str
    tenant: str | None
    priority: int
    attempt: int
    worker_id: str
    since: datetime = Field(description="When it has started.")
    percent: float | None = Field(description="Of its progress, if it says so.")
    cancel_requested: Literal["pause", "cancel", "force"] | None


class GateWaiter(BaseModel):
    """A task in the line of the gate."""

    task_id: str
    actor: str
    queue: str
    tenant: str | None
    priority: int
    attempt: int
    position: int
    since: datetime
    reason: str | None = Field(description="Why it could not start when it tried last.")
    eta_seconds: float | None = Field(description="The estimated time until it starts; null if nobody knows.")


class GateChange(BaseModel):
    gate: str
    at: datetime
    origin: Literal["operator", "code", "breaker"] = Field(
        description="Who has changed it: an operator, a deploy of code that declares another value, or its breaker."
    )
    by: str | None = Field(description="The name of the operator's API key.")
    changes: dict[str, list[Any]] = Field(description="The value before and the value after, by field.")


def make_viewer(model: type[_View]) -> Callable[[Row], _View]:
    """Returns what makes the view of a row."""

    def view(row: Row) -> _View:
        return model.model_construct(**convert_to_utc({name: row[name] for name in model.model_fields}))

    return view


class SampleQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    gate: str = Field(min_length=1, max_length=400, description="The key of the gate.")
    since: Moment | None = Field(None, description="Only samples after this moment.")


class UseQuery(PageQuery):
    gate: str = Field(min_length=1, max_length=400, description="The key of the gate.")


class ChangeQuery(PageQuery):
    gate: str | None = Field(None, min_length=1, max_length=400, description="The key of the gate; all without it.")


async def get_samples(request: Request) -> Response:
    query = parse_query(request, SampleQuery)
    view = make_viewer(GateSample)
    rows = await run_verb(request, list_samples, query.gate, since=query.since)
    return send_json(GateSamples.model_construct(items=[view(row) for row in rows]))


async def get_holders(request: Request) -> Response:
    query = parse_query(request, UseQuery)

    async def read(after: str | None, limit: int) -> list[Row]:
        return await run_verb(request, list_holders, query.gate, after=after or "", limit=limit)

    return await send_page(
        query, Listing(read, make_viewer(GateHolder), lambda row: row["task_id"], is_task_id, chunk=MAX_LIMIT)
    )


async def get_waiters(request: Request) -> Response:
    query = parse_query(request, UseQuery)

    async def read(position: str | None, limit: int) -> list[Row]:
        after = None if position is None else _parse_place(position)
        return await run_verb(request, list_waiters, query.gate, after=after, limit=limit)

    return await send_page(query, Listing(read, make_viewer(GateWaiter), _make_position, _is_place, chunk=MAX_LIMIT))


def _make_position(row: Row) -> str:
    return f"{row['position']}/{row['priority']}/{row['rank']}/{row['task_id']}"


def _parse_place(text: str) -> LinePlace:
    position, priority, rank, task_id = text.split("/")
    return LinePlace(int(position), int(priority), int(rank), task_id)


def _is_place(text: str) -> bool:
    *numbers, task_id = text.split("/")
    return len(numbers) == 3 and all(map(_is_number, numbers)) and is_task_id(task_id)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) <= _MAX_ID


async def get_changes(request: Request) -> Response:
    query = parse_query(request, ChangeQuery)

    async def read(position: str | None, limit: int) -> list[Row]:
        before = None if position is None else int(position)
        return await run_verb(request, list_changes, query.gate, before=before, limit=limit)

    return await send_page(
        query, Listing(read, make_viewer(GateChange), lambda row: str(row["id"]), _is_number, chunk=MAX_LIMIT)
    )


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/gate-samples",
        get_samples,
        "Show the use of a gate over the last hour",
        {200: GateSamples},
        query=SampleQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
    Operation(
        "GET",
        f"{PREFIX}/gate-holders",
        get_holders,
        "List the running tasks that have a place at a gate",
        {200: Page[GateHolder]},
        query=UseQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
    Operation(
        "GET",
        f"{PREFIX}/gate-waiters",
        get_waiters,
        "List the tasks that wait at a gate, from the front of the line",
        {200: Page[GateWaiter]},
        query=UseQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
    Operation(
        "GET",
        f"{PREFIX}/gate-changes",
        get_changes,
        "List what was changed at a gate, or at all gates, newest first",
        {200: Page[GateChange]},
        query=ChangeQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
]
