"""Tasks: the list, one task, its attempts and its events."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from state.database import Row
from state.tasks.events import EVENT_KINDS, STREAM_KINDS, Event, get_events, get_newest_events
from state.tasks.ids import is_task_id
from state.tasks.reads import ListedTask, Task, get_attempts, get_task, list_tasks
from state.tasks.search import MOST, Search, get_listed_tasks, search_tasks
from state.tasks.sharing import TooLargeToShare, get_together
from state.transitions import Lane, Status
from state.unvalidated import Unvalidated
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Position, is_position, parse_query, parse_task_id
from taskapi.api.verbs import run_shared, run_verb

_CHUNK = 100  # tasks of a page that are read at once: payloads and results are bounded, errors of many attempts are not
_STORED_KINDS = ", ".join(kind for kind in EVENT_KINDS if kind not in STREAM_KINDS)


class Links(Unvalidated):
    self: str
    events: str
    attempts: str
    stream: str
    cancel: str

    @classmethod
    def of(cls, task_id: str) -> "Links":
        here = f"{PREFIX}/tasks/{task_id}"
        parts = {name: f"{here}/{name}" for name in ("events", "attempts", "stream", "cancel")}
        return cls._construct({"self": here, **parts})


_MOMENTS = [name for name, field in Task.model_fields.items() if field.annotation in (datetime, datetime | None)]


class TaskView(Task):
    """A task. A null is null, not missing."""

    last_event: int = Field(exclude=True)
    deduplicated: bool = Field(False, exclude=True)
    links: Links

    @classmethod
    def of(cls, task: Task) -> Self:
        values = {**task.__dict__, "links": Links.of(task.task_id)}
        for name in _MOMENTS:
            if (moment := values[name]) is not None:
                values[name] = moment.astimezone(UTC)  # a session that comes through a pooler may have any time zone
        updated_at = task.progress.get("updated_at")
        if isinstance(updated_at, str):  # Postgres writes moments in JSON in a format of its own
            values["progress"] = {**task.progress, "updated_at": datetime.fromisoformat(updated_at).astimezone(UTC)}
        return cls._construct({name: values[name] for name in cls.model_fields})


class ListedTaskView(TaskView):
    """A task in a list. `links.self` has it whole."""

    payload: dict[str, Any] | None = Field(description="Null if it is large: see `omitted`.")  # type: ignore[assignment]
    result: Any = Field(None, description="Null if it is large: see `omitted`.")
    omitted: list[Literal["payload", "result"]] = Field(
        description="The members that are null because they have more than about 32 KiB."
    )


class EventView(BaseModel):
    """An event of a task's history. Each task numbers its events from 1."""

    n: int
    kind: str = Field(description=f"One of {_STORED_KINDS}; an actor may emit further kinds of its own.")
    data: dict[str, Any]
    at: datetime

    @classmethod
    def of(cls, event: Event) -> "EventView":
        return cls.model_construct(n=event.n, kind=event.kind, data=event.data, at=event.at.astimezone(UTC))


class AttemptView(BaseModel):
    """An execution of a task. The one that runs now has no outcome yet."""

    epoch: int
    attempt: int
    worker_id: str
    outcome: str | None
    error: dict[str, Any] | None
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "AttemptView":
        return cls.model_construct(**convert_to_utc(row))


class TaskFilter(BaseModel):
    """The filters of GET /tasks. A task is listed if all of them match."""

    status: Status | None = None
    actor: str | None = None
    agent_name: str | None = None
    task_type: str | None = Field(None, description="Of an agent.")
    queue: str | None = None
    lane: Lane | None = None
    workflow_id: str | None = None
    workflow_run_id: str | None = None
    tenant: str | None = None
    target: str | None = None
    error_type: str | None = None
    fingerprint: str | None = Field(None, description="Dead letters of a group, see GET /queues/dlq/groups.")


MAX_TEXT = 500

Text = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=MAX_TEXT,
        description="Words that must all be in the task's id, names, error, progress or payload (if that has less than "
        "about 32 KiB); in double quotes, several words as they stand.",
    ),
]


class TaskQuery(PageQuery, TaskFilter):
    text: Text = None


class Searched(BaseModel):
    """How far a search for a text has come."""

    tasks: int = Field(description=f"Tasks that were looked at, {MOST} at most.")
    until: datetime | None = Field(description="When the last of these was created.")


class TaskPage(Page[ListedTaskView]):
    """A page of tasks. With `text` it may have few items, or none, and a next page: a search looks at a limited number
    of tasks."""

    searched: Searched | None = Field(None, description="Only with `text`.")


class EventQuery(PageQuery):
    after: Position = Field(0, description="Only events with a greater n.")
    cursor: str | None = Field(None, description="`next_cursor` of the page before; overrides `after`.")
    kind: str | None = Field(None, description="Only events of this kind.")
    order: Literal["oldest", "newest"] = Field("oldest", description="Which events come first.")


async def get_list(request: Request) -> Response:
    query = parse_query(request, TaskQuery)
    filters = query.model_dump(include=set(TaskFilter.model_fields))
    if query.text is not None:
        before = query.get_position(is_task_id)
        found = await run_verb(request, search_tasks, query.text, before=before, limit=query.limit, **filters)
        return await _send_found(request, query, found)

    async def read(before: str | None, limit: int) -> list[ListedTask]:
        return await run_verb(request, list_tasks, before=before, limit=limit, **filters)

    return await send_tasks(query, read)


async def _send_found(request: Request, query: PageQuery, found: Search) -> Response:
    async def read(before: str | None, limit: int) -> list[ListedTask]:
        ids = [each for each in found.ids if before is None or each < before]
        return await run_verb(request, get_listed_tasks, ids[:limit])

    searched = Searched(tasks=found.searched, until=found.until and found.until.astimezone(UTC))
    return await send_tasks(query, read, found.position, searched=searched)


async def send_tasks(
    query: PageQuery,
    read: Callable[[str | None, int], Awaitable[Sequence[ListedTask]]],
    goes_on: str | None = None,
    **members: Any,
) -> Response:
    """Sends a page of a list of tasks whose cursors are task ids."""
    listing = Listing(read, ListedTaskView.of, lambda task: task.task_id, is_task_id, members, goes_on, chunk=_CHUNK)
    return await send_page(query, listing)


async def get_one(request: Request) -> Response:
    task_id = parse_task_id(request)
    try:
        text = await run_shared(request, get_together, task_id, _serialize)
    except TooLargeToShare:
        text = _serialize(await run_verb(request, get_task, task_id))
    return Response(text, media_type="application/json")


def _serialize(task: Task) -> bytes:
    return TaskView.of(task).model_dump_json().encode()


async def get_attempts_of_one(request: Request) -> Response:
    task_id = parse_task_id(request)

    async def read(position: str | None, limit: int) -> list[Row]:
        return await run_verb(request, get_attempts, task_id, after=int(position or 0), limit=limit)

    listing = Listing(read, AttemptView.of, lambda row: str(row["epoch"]), is_position)
    return await send_page(parse_query(request, PageQuery), listing)


async def get_events_of_one(request: Request) -> Response:
    return await send_events(request, get_task, parse_task_id(request))


async def send_events(request: Request, require: Callable[[str], object], its_id: str) -> Response:
    """Sends a page of the history of a task, or of something else that has events. `require` raises an error if there
    is no such thing: its list of events would otherwise be empty."""
    query = parse_query(request, EventQuery)
    await run_verb(request, require, its_id)

    async def read(position: str | None, limit: int) -> list[Event]:
        if query.order == "newest":
            before = None if position is None else int(position)
            return await run_verb(request, get_newest_events, its_id, before, limit, after=query.after, kind=query.kind)
        after = query.after if position is None else int(position)
        return await run_verb(request, get_events, its_id, after, limit, kind=query.kind)

    return await send_page(query, Listing(read, EventView.of, lambda event: str(event.n), is_position))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/tasks",
        get_list,
        "List tasks, newest first",
        {200: TaskPage},
        query=TaskQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}",
        get_one,
        "Show a task",
        {200: TaskView},
        problems=("task-not-found",),
        older_paths=("/api/task/{task_id}",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/attempts",
        get_attempts_of_one,
        "List a task's executions",
        {200: Page[AttemptView]},
        query=PageQuery,
        problems=("task-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/tasks/{{task_id}}/events",
        get_events_of_one,
        "List the events of a task's history",
        {200: Page[EventView]},
        query=EventQuery,
        problems=("task-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
