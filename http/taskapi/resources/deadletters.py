"""Dead letters: the list, and the verbs that act on many of them at once."""

from dataclasses import asdict
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.deadletters import Bulk, dismiss_many, list_dead_letters, redrive
from state.tasks.errorgroups import HOURS, ErrorGroup, list_error_groups
from state.tasks.ids import is_task_id
from state.tasks.reads import ListedTask
from taskapi.api.bodies import read_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Count, parse_query
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import ListedTaskView, send_tasks

_MAX_AGE = 10 * 365 * 24 * 3600.0
_MOST_GROUPS = 100


class DeadLetterFilter(BaseModel):
    """A dead letter is taken if all of these match."""

    actor: str | None = None
    agent_name: str | None = None
    task_type: str | None = Field(None, description="Of an agent.")
    error_type: str | None = None
    fingerprint: str | None = Field(None, description="Of a group, see GET /queues/dlq/groups.")
    older_than: float | None = Field(None, ge=0, le=_MAX_AGE, description="Seconds since the task died.")
    tenant: str | None = None


class DeadLetterQuery(PageQuery, DeadLetterFilter):
    pass


class ErrorGroupQuery(DeadLetterQuery):
    limit: Count = Field(50, ge=1, le=_MOST_GROUPS)


class ActorTasks(BaseModel):
    actor: str
    tasks: int


class ErrorGroupView(BaseModel):
    """Dead letters whose errors are of one type, with the same message apart from ids, numbers and the like."""

    fingerprint: str
    error_type: str | None
    message: str | None = Field(description="Of the newest dead letter.")
    normalized_message: str | None = Field(description="Its first line, with `<n>` for numbers, `<id>`, and the like.")
    task_id: str = Field(description="The newest dead letter.")
    tasks: int
    counted_all: bool = Field(description="False: there are more, as only the newest ones were counted.")
    actors: list[ActorTasks] = Field(description="Most tasks first.")
    first_seen: datetime
    last_seen: datetime
    trend: list[int | None] = Field(
        min_length=HOURS,
        max_length=HOURS,
        description=f"Deaths in each of the last {HOURS} hours, oldest first. Null: not all of them were counted.",
    )

    @classmethod
    def of(cls, group: ErrorGroup) -> "ErrorGroupView":
        return cls.model_validate(asdict(group))


class BulkBody(DeadLetterFilter):
    """At least one of actor, agent_name, task_type, error_type, fingerprint and older_than is required, unless `all` is
    true."""

    model_config = ConfigDict(strict=True, extra="forbid")

    all: bool = Field(False, description="Required if there is no filter.")
    dry_run: bool = Field(False, description="Change nothing; return what would be done.")


class BulkGroup(BaseModel):
    actor: str
    error_type: str | None
    tasks: int


class BulkView(BaseModel):
    """The outcome of a bulk action; with `dry_run`, the outcome that it would have."""

    tasks: int
    skipped: int = Field(description="Tasks that stay as they are: another unfinished task holds their dedup key.")
    groups: list[BulkGroup] = Field(description="All dead letters that match the filter.")
    dry_run: bool

    @classmethod
    def of(cls, bulk: Bulk) -> "BulkView":
        groups = [BulkGroup.model_validate(group) for group in bulk.groups]
        return cls(tasks=bulk.tasks, skipped=bulk.skipped, groups=groups, dry_run=bulk.dry_run)


async def get_list(request: Request) -> Response:
    query = parse_query(request, DeadLetterQuery)
    filters = query.model_dump(include=set(DeadLetterFilter.model_fields))

    async def read(before: str | None, limit: int) -> list[ListedTask]:
        return await run_verb(request, list_dead_letters, before=before, limit=limit, **filters)

    return await send_tasks(query, read)


async def get_groups(request: Request) -> Response:
    query = parse_query(request, ErrorGroupQuery)
    filters = query.model_dump(include=set(DeadLetterFilter.model_fields))

    async def read(before: str | None, limit: int) -> list[ErrorGroup]:
        return await run_verb(request, list_error_groups, before=before, limit=limit, **filters)

    listing = Listing(read, ErrorGroupView.of, lambda group: group.task_id, is_task_id, chunk=_MOST_GROUPS)
    return await send_page(query, listing)


async def post_redrive(request: Request) -> Response:
    body = await read_body(request, BulkBody)
    return send_json(BulkView.of(await run_verb(request, redrive, **body.model_dump())))


async def post_dismiss(request: Request) -> Response:
    body = await read_body(request, BulkBody)
    return send_json(BulkView.of(await run_verb(request, dismiss_many, **body.model_dump())))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/queues/dlq",
        get_list,
        "List the dead letters, newest first",
        {200: Page[ListedTaskView]},
        query=DeadLetterQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/queues/dlq/groups",
        get_groups,
        "List the dead letters in groups with the same error, that with the newest one first",
        {200: Page[ErrorGroupView]},
        query=ErrorGroupQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/dlq/redrive",
        post_redrive,
        "Run all dead letters that match a filter again",
        {200: BulkView},
        body=BulkBody,
        problems=("empty-filter", *BODY_PROBLEMS),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/queues/dlq/dismiss",
        post_dismiss,
        "Dismiss all dead letters that match a filter: they are canceled",
        {200: BulkView},
        body=BulkBody,
        problems=("empty-filter", *BODY_PROBLEMS),
        role="operator",
        scope="tenant",
    ),
]
