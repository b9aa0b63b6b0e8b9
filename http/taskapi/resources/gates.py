"""Gates: the list, one gate, and the changes that an operator makes at run time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.database import Row
from state.errors import GateNotFound
from state.gates.operations import put_gate, reset_gate
from state.gates.reads import get_gate, list_gates
from taskapi.api.bodies import read_body, send_json
from taskapi.api.moments import Moment, convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import MAX_LIMIT, Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Flag, parse_query
from taskapi.api.verbs import run_verb

GateState = Literal[
    "open", "paused", "closed", "breaker_open", "breaker_half_open", "full", "rate", "blocked", "unknown_actor"
]


class GateView(BaseModel):
    """A limit on the start of tasks. `max_concurrent` differs from `declared_concurrent` if an operator changed it; so
    do the rate and the breaker."""

    key: str
    max_concurrent: int | None
    declared_concurrent: int | None
    rate_count: int | None
    rate_seconds: float | None
    declared_rate_count: int | None
    declared_rate_seconds: float | None
    paused: bool
    closed_until: datetime | None
    breaker_threshold: float | None
    breaker_volume: int
    breaker_window: float
    breaker_seconds: float
    declared_breaker_threshold: float | None
    declared_breaker_volume: int | None
    declared_breaker_window: float | None
    declared_breaker_seconds: float | None
    breaker_state: Literal["closed", "open", "half_open"]
    breaker_changed_at: datetime | None
    probe_task: str | None
    has_settings: bool = Field(description="False: tasks use or wait for it, and nobody has set or declared anything.")
    running: int
    waiting: int
    state: GateState = Field(description="`open` if a task could start now, else what prevents it.")
    next_at: datetime | None = Field(description="When that ends, if it is known; an estimate if the state is `full`.")
    rate_left: int | None = Field(description="How many more may start now by the rate; null: there is no rate.")
    rate_next_at: datetime | None = Field(description="When `rate_left` grows again, if it is less than `rate_count`.")
    trend: list[int] | None = Field(
        description="The most that ran in each minute of the last hour, oldest first; null unless asked for."
    )

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "GateView":
        return cls.model_construct(**convert_to_utc({name: row[name] for name in cls.model_fields}))


class GateBody(BaseModel):
    """The changes to a gate. Fields that are left out stay as they are."""

    model_config = ConfigDict(strict=True, extra="forbid")

    max_concurrent: int | None = Field(None, description="How many tasks may run at once; null: any number.")
    rate_count: int | None = Field(None, description="The starts allowed in `rate_seconds`; both null: no rate.")
    rate_seconds: float | None = None
    paused: bool | None = None
    closed_until: Moment | None = None
    breaker_threshold: float | None = Field(
        None, description="The share of failures that opens the breaker; null: no breaker."
    )
    breaker_volume: int | None = Field(None, description="The fewest results from which the breaker decides.")
    breaker_window: float | None = Field(None, description="The breaker counts the results of so many seconds.")
    breaker_seconds: float | None = Field(None, description="How long the breaker stays open before a probe.")

    def get_changes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class GateQuery(PageQuery):
    q: str = Field("", max_length=400, description="A part of the key; upper and lower case are the same.")
    busy: Flag | None = Field(
        None, description="Only gates that are in use, have a line, or are closed; or only the others."
    )
    trend: Flag = Field(False, description="With the use in each minute of the last hour.")


async def get_list(request: Request) -> Response:
    query = parse_query(request, GateQuery)

    async def read(position: str | None, limit: int) -> list[Row]:
        after = unquote(position or "")  # a key may have any characters, a cursor only those of ASCII
        return await run_verb(
            request, list_gates, q=query.q, busy=query.busy, trend=query.trend, after=after, limit=limit
        )

    listing = Listing(read, GateView.of, lambda row: quote(row["key"]), _is_position, chunk=MAX_LIMIT)
    return await send_page(query, listing)


def _is_position(text: str) -> bool:
    return bool(text) and unquote(text).isprintable()


async def get_one(request: Request) -> Response:
    return send_json(GateView.of(await run_verb(request, get_gate, _parse_key(request))))


async def put_one(request: Request) -> Response:
    key = _parse_key(request)
    body = await read_body(request, GateBody)
    return send_json(GateView.of(await run_verb(request, put_gate, key, **body.get_changes())))


async def post_reset(request: Request) -> Response:
    return send_json(GateView.of(await run_verb(request, reset_gate, _parse_key(request))))


def _parse_key(request: Request) -> str:
    key: str = request.path_params["key"]
    if not key.isprintable():
        raise GateNotFound(key)
    return key


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/gates",
        get_list,
        "List the gates",
        {200: Page[GateView]},
        query=GateQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
    Operation(
        "GET",
        f"{PREFIX}/gates/{{key:path}}",
        get_one,
        "Show a gate",
        {200: GateView},
        problems=("unknown-gate",),
        role="operator",
        scope="all",
    ),
    Operation(
        "PUT",
        f"{PREFIX}/gates/{{key:path}}",
        put_one,
        "Change a gate; takes effect with the next start of a task",
        {200: GateView},
        body=GateBody,
        problems=("unknown-gate", *BODY_PROBLEMS),
        role="operator",
        scope="all",
    ),
    Operation(
        "POST",
        f"{PREFIX}/gates/{{key:path}}/reset",
        post_reset,
        "Give a gate the limit, rate and breaker that the code declares",
        {200: GateView},
        problems=("unknown-gate",),
        role="operator",
        scope="all",
    ),
]
