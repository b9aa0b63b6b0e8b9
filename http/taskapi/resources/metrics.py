"""Metrics: what happened to the tasks, by the minute, the hour or the day."""

from pydantic import ConfigDict, Field, field_validator
from pydantic_core.core_schema import ValidationInfo
from starlette.requests import Request
from starlette.responses import Response

from state.metrics.reads import Place, Resolution, TaskMetrics, list_metrics
from taskapi.api.moments import Moment, convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import MAX_LIMIT, Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.verbs import run_verb


class MetricsQuery(PageQuery):
    model_config = ConfigDict(extra="forbid")

    since: Moment | None = Field(
        None, alias="from", description="Default: an hour of minutes, a day of hours, or 30 days before `to`."
    )
    until: Moment | None = Field(None, alias="to", description="Default: now.")
    resolution: Resolution = "minute"
    actor: str | None = None
    agent_name: str | None = None
    task_type: str | None = Field(None, description="Of an agent.")

    @field_validator("until")
    @classmethod
    def _check_order(cls, until: Moment | None, info: ValidationInfo) -> Moment | None:
        since = info.data.get("since")
        if since is not None and until is not None and until <= since:
            raise ValueError("must be later than `from`")
        return until


async def get_task_metrics(request: Request) -> Response:
    query = parse_query(request, MetricsQuery)

    async def read(position: str | None, limit: int) -> list[TaskMetrics]:
        return await run_verb(
            request,
            list_metrics,
            since=query.since,
            until=query.until,
            resolution=query.resolution,
            actor=query.actor,
            agent_name=query.agent_name,
            task_type=query.task_type,
            before=None if position is None else Place.parse(position),
            limit=limit,
        )

    return await send_page(query, Listing(read, _in_utc, lambda row: str(row.place), _is_place, chunk=MAX_LIMIT))


def _in_utc(row: TaskMetrics) -> TaskMetrics:
    return TaskMetrics.model_construct(**convert_to_utc(row.__dict__))


def _is_place(text: str) -> bool:
    try:
        return str(Place.parse(text)) == text
    except ValueError:
        return False


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/metrics/tasks",
        get_task_metrics,
        "List what happened to the tasks, by time, actor and agent, newest first",
        {200: Page[TaskMetrics]},
        "Lists all whole minutes, hours or days (in UTC) that overlap with the time from `from` to `to`. Minutes are "
        "kept for 30 days, and days for ever.",
        query=MetricsQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="all",
    ),
]
