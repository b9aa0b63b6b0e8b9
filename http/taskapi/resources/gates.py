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
from state.gates.operations import get_gate, list_gates, put_gate
from taskapi.api.bodies import read_body, send_json
from taskapi.api.moments import Moment, convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.verbs import run_verb


class GateView(BaseModel):
    """A limit on the start of tasks. `max_concurrent` differs from `declared_concurrent` if an operator changed it."""

    key: str
    max_concurrent: int | None
    declared_concurrent: int | None
    rate_count: int | None
    rate_seconds: float | None
    paused: bool
    closed_until: datetime | None
    breaker_threshold: float | None
    breaker_volume: int
    breaker_window: float
    breaker_seconds: float
    breaker_state: Literal["closed", "open", "half_open"]
    breaker_changed_at: datetime | None
    probe_task: str | None
    running: int
    waiting: int

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


async def get_list(request: Request) -> Response:
    rows = await run_verb(request, list_gates)

    async def read(position: str | None, limit: int) -> list[Row]:
        after = unquote(position or "")  # a key may have any characters, a cursor only those of ASCII
        return [row for row in rows if row["key"] > after][:limit]

    listing = Listing(read, GateView.of, lambda row: quote(row["key"]), bool)
    return await send_page(parse_query(request, PageQuery), listing)


async def get_one(request: Request) -> Response:
    return send_json(GateView.of(await run_verb(request, get_gate, _parse_key(request))))


async def put_one(request: Request) -> Response:
    key = _parse_key(request)
    body = await read_body(request, GateBody)
    return send_json(GateView.of(await run_verb(request, put_gate, key, **body.get_changes())))


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
        query=PageQuery,
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
]
