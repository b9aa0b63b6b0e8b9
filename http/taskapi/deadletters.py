"""Dead letters: the list of them, and what is done with many at once."""

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.tasks.deadletters import Bulk, dismiss_many, list_dead_letters, redrive
from state.tasks.ids import is_task_id
from taskapi import cursors
from taskapi.bodies import parse_body, read_body
from taskapi.requests import MAX_LIMIT, Count, parse_query
from taskapi.threads import call
from taskapi.views import Page, TaskView, answer

_LONGEST = 10 * 365 * 24 * 3600.0


class DeadLetterFilter(BaseModel):
    """All of them must hold."""

    actor: str | None = None
    error_type: str | None = None
    older_than: float | None = Field(None, ge=0, le=_LONGEST, description="Seconds since the task died.")
    tenant: str | None = None


class DeadLetterQuery(DeadLetterFilter):
    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(100, ge=1, le=MAX_LIMIT)
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


class BulkBody(DeadLetterFilter):
    """A tenant alone does not say which ones are meant."""

    model_config = ConfigDict(strict=True, extra="forbid")

    all: bool = Field(False, description="Really all: without a filter this has to be said.")
    dry_run: bool = Field(False, description="Only say what would happen.")


class BulkGroup(BaseModel):
    actor: str
    error_type: str | None
    tasks: int


class BulkView(BaseModel):
    """What was done, or with `dry_run` would have been."""

    tasks: int
    skipped: int = Field(description="Left as they are: another unfinished task holds their dedup key.")
    groups: list[BulkGroup] = Field(description="All that fit the filter.")
    dry_run: bool

    @classmethod
    def of(cls, bulk: Bulk) -> "BulkView":
        groups = [BulkGroup.model_validate(group) for group in bulk.groups]
        return cls(tasks=bulk.tasks, skipped=bulk.skipped, groups=groups, dry_run=bulk.dry_run)


async def get_dead_letters(request: Request) -> Response:
    query = parse_query(request, DeadLetterQuery)
    before = None if query.cursor is None else cursors.decode(query.cursor, is_task_id)
    filters = query.model_dump(exclude={"limit", "cursor"})
    # One more than asked for: is there a next page?
    tasks = await call(request, list_dead_letters, before=before, limit=query.limit + 1, **filters)
    items = [TaskView.of(task) for task in tasks[: query.limit]]
    more = len(tasks) > len(items)
    return answer(Page[TaskView](items=items, next_cursor=cursors.encode(items[-1].task_id) if more else None))


async def post_redrive(request: Request) -> Response:
    body = parse_body(await read_body(request), BulkBody)
    return answer(BulkView.of(await call(request, redrive, **body.model_dump())))


async def post_dismiss(request: Request) -> Response:
    body = parse_body(await read_body(request), BulkBody)
    return answer(BulkView.of(await call(request, dismiss_many, **body.model_dump())))
