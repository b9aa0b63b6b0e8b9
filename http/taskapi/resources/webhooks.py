"""Webhooks of a task: the log of its deliveries, and replays."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.ids import is_task_id
from state.transitions import Status
from state.webhooks.deliveries import Delivery, Replayed, get_webhook, list_deliveries, replay
from taskapi.api.bodies import read_optional_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import MAX_POSITION, parse_query, parse_task_id
from taskapi.api.verbs import run_verb

_MOST = 1000

_EventNumber = Annotated[int, Field(ge=1, le=MAX_POSITION)]


class DeliveryLinks(BaseModel):
    self: str
    attempts: str

    @classmethod
    def of(cls, delivery_id: str) -> "DeliveryLinks":
        here = f"{PREFIX}/tasks/{delivery_id}"
        return cls(self=here, attempts=f"{here}/attempts")


class DeliveryView(BaseModel):
    """The delivery of an event. It is a task itself, of the actor `webhook`: a dead one is a dead letter."""

    n: int = Field(description="The number of the event in the task's history.")
    type: str = Field(description="Such as task.completed.")
    at: datetime = Field(description="When the task moved.")
    delivery_id: str
    status: Status = Field(description="Of the delivery; completed: the receiver has accepted it.")
    attempt: int
    max_attempts: int
    response_status: int | None = Field(description="The receiver's last answer; null: it has given none.")
    duration_ms: int | None = Field(description="How long the last attempt took.")
    error: dict[str, Any] | None = Field(description="Why the last attempt has failed.")
    created_at: datetime
    finished_at: datetime | None
    next_attempt_at: datetime | None
    links: DeliveryLinks

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryView":
        links = DeliveryLinks.of(delivery.delivery_id)
        return cls.model_construct(**convert_to_utc(asdict(delivery)), links=links)


class DeliveryPage(Page[DeliveryView]):
    url: str
    events: list[Status]


class ReplayBody(BaseModel):
    """Without numbers: all events that the webhook has chosen."""

    model_config = ConfigDict(strict=True, extra="forbid")

    after: int = Field(0, ge=0, le=MAX_POSITION, description="Only events with a greater n.")
    events: list[_EventNumber] | None = Field(
        None, min_length=1, max_length=_MOST, description="The n of the events; `after` is not looked at then."
    )


class ReplayedView(BaseModel):
    n: int
    type: str
    delivery_id: str
    status: Status
    is_new: bool = Field(description="false: a delivery of this event was not over yet, and goes on at once.")

    @classmethod
    def of(cls, replayed: Replayed) -> "ReplayedView":
        return cls.model_construct(**asdict(replayed))


async def get_list(request: Request) -> Response:
    task_id, query = parse_task_id(request), parse_query(request, PageQuery)
    webhook = await run_verb(request, get_webhook, task_id)

    async def read(after: str | None, limit: int) -> list[Delivery]:
        return await run_verb(request, list_deliveries, task_id, after=after, limit=limit)

    listing = Listing(read, DeliveryView.of, lambda each: each.delivery_id, is_task_id, members=asdict(webhook))
    return await send_page(query, listing)


async def post_replay(request: Request) -> Response:
    task_id, body = parse_task_id(request), await read_optional_body(request, ReplayBody)
    replayed = await run_verb(request, replay, task_id, after=body.after, events=body.events)
    return send_json(Page[ReplayedView](items=[ReplayedView.of(each) for each in replayed]), 202)


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/webhooks",
        get_list,
        "List the deliveries of a task's events to its webhook, oldest first",
        {200: DeliveryPage},
        query=PageQuery,
        problems=("task-not-found", "no-webhook", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/tasks/{{task_id}}/webhooks/replay",
        post_replay,
        "Send events of a task to its webhook again",
        {202: Page[ReplayedView]},
        body=ReplayBody,
        problems=("task-not-found", "no-webhook", *(each for each in BODY_PROBLEMS if each != "empty-body")),
        role="submitter",
        scope="tenant",
    ),
]
