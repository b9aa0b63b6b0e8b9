"""Agent events: what agents have done, as a list, and the search for those that resemble a text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from starlette.requests import Request
from starlette.responses import Response

from state.access.caller import SYSTEM, Caller
from state.agents.events import (
    LONGEST_EMBEDDED,
    MAX_LIMIT,
    Found,
    FoundEvent,
    ListedEvent,
    get_event,
    list_events,
    search,
)
from state.errors import AgentEventNotFound
from state.tasks.ids import is_agent_event_id
from taskapi.api.bodies import send_json
from taskapi.api.moments import Moment, convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import MAX_LIMIT as LARGEST_PAGE
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Count, parse_query
from taskapi.api.verbs import run_verb


class AgentEventQuery(PageQuery):
    """An event is listed if all of these match."""

    model_config = ConfigDict(extra="forbid")

    agent_name: str | None = None
    task_type: str | None = None
    tenant: str | None = Field(None, min_length=1, max_length=200)
    text: str | None = Field(None, min_length=1, max_length=500, description="Words that must all be in its text.")
    since: Moment | None = Field(None, alias="from", description="Only events from this moment on.")
    until: Moment | None = Field(None, alias="to", description="Only events before this moment.")

    @field_validator("until")
    @classmethod
    def _check_order(cls, until: Moment | None, info: ValidationInfo) -> Moment | None:
        since = info.data.get("since")
        if since is not None and until is not None and until <= since:
            raise ValueError("must be later than `from`")
        return until


class SearchQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    q: str = Field(min_length=1, max_length=LONGEST_EMBEDDED, description="The text that events should resemble.")
    limit: Count = Field(10, ge=1, le=MAX_LIMIT)
    agent_name: str | None = None
    task_type: str | None = None
    tenant: str | None = Field(None, min_length=1, max_length=200)


class FoundView(BaseModel):
    """Agent events that resemble a text, the nearest first."""

    items: list[FoundEvent]
    method: Literal["vector", "text"] = Field(description="`text`: by words, as there was no vector to search by.")
    note: str | None = Field(description="Why the search was by words, or what it could not find.")

    @classmethod
    def of(cls, found: Found) -> "FoundView":
        items = [FoundEvent.model_construct(**convert_to_utc(dict(event))) for event in found.items]
        return cls.model_construct(items=items, method=found.method, note=found.note)


class AgentEventView(BaseModel):
    """What an agent has done in a task that it completed. Without `embedded_at`, only a search by words finds it."""

    event_id: str
    task_id: str
    workflow_id: str | None
    tenant: str | None
    agent_name: str
    task_type: str
    text: str
    input: Any
    result: Any
    job_id: str = Field(description="The task that embeds the text.")
    embedding_model: str | None
    embedded_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "AgentEventView":
        return cls.model_construct(**convert_to_utc(row))


async def get_list(request: Request) -> Response:
    query = parse_query(request, AgentEventQuery)
    filters = query.model_dump(exclude=set(PageQuery.model_fields))

    async def read(before: str | None, limit: int) -> list[ListedEvent]:
        return await run_verb(request, list_events, before=before, limit=limit, **filters)

    listing = Listing(read, _in_utc, lambda event: event.event_id, is_agent_event_id, chunk=LARGEST_PAGE)
    return await send_page(query, listing)


def _in_utc(event: ListedEvent) -> ListedEvent:
    return ListedEvent.model_construct(**convert_to_utc(event.__dict__))


async def get_found(request: Request) -> Response:
    query = parse_query(request, SearchQuery)
    return send_json(FoundView.of(await run_verb(request, _search, query)))


def _search(query: SearchQuery, *, caller: Caller = SYSTEM) -> Found:
    return search(
        query.q,
        tenant=query.tenant,
        any_tenant=query.tenant is None,
        agent_name=query.agent_name,
        task_type=query.task_type,
        limit=query.limit,
        caller=caller,
    )


async def get_one(request: Request) -> Response:
    return send_json(AgentEventView.of(await run_verb(request, get_event, _parse_event_id(request))))


def _parse_event_id(request: Request) -> str:
    event_id: str = request.path_params["event_id"]
    if not is_agent_event_id(event_id):
        raise AgentEventNotFound(event_id)
    return event_id


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/agent-events",
        get_list,
        "List what agents have done, newest first",
        {200: Page[ListedEvent]},
        query=AgentEventQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/agent-events/search",
        get_found,
        "Find what agents have done before that resembles a text",
        {200: FoundView},
        query=SearchQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/agent-events/{{event_id}}",
        get_one,
        "Show what an agent has done in a task",
        {200: AgentEventView},
        problems=("agent-event-not-found",),
        role="reader",
        scope="tenant",
    ),
]
