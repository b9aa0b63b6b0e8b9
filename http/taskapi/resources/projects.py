"""Projects and their items."""

from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.errors import InvalidPayload, ItemNotFound, ProjectNotFound
from state.projects.items import MOST_ITEMS, NewItem, add_items, create_project, retry_item
from state.projects.reads import (
    Item,
    ItemCounts,
    ItemStatus,
    Project,
    QueueState,
    get_project,
    list_items,
    list_projects,
)
from state.tasks.ids import is_item_id, is_project_id
from taskapi.api.bodies import parse, parse_body, read_body, read_raw_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import is_position, parse_query
from taskapi.api.priorities import Priority
from taskapi.api.problems import Problem
from taskapi.api.verbs import run_verb

_View = TypeVar("_View", bound=BaseModel)


class NewItemBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    title: str = Field(min_length=1, max_length=500)
    agent_name: str = Field(min_length=1, max_length=200, description="See GET /api/v1/agents.")
    task_type: str = Field(min_length=1, max_length=200)
    input: dict[str, Any] = Field(default_factory=dict, description="Must fit the agent's input schema.")
    priority: Priority | None = Field(
        None, description="0 (critical) to 3 (low), or the name. Unset: the agent's default. Lower numbers come first."
    )

    def to_item(self) -> NewItem:
        return NewItem(**{name: getattr(self, name) for name in NewItemBody.model_fields})


class NewItemsBody(BaseModel):
    """Items, or a single item, which then is the body itself."""

    model_config = ConfigDict(strict=True, extra="forbid")

    items: list[NewItemBody] = Field(min_length=1, max_length=MOST_ITEMS, description="All are added, or none.")


class NewProjectBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    tenant: str | None = Field(None, min_length=1, max_length=200)
    items: list[NewItemBody] = Field(default_factory=list, max_length=MOST_ITEMS)


class ProjectLinks(BaseModel):
    self: str
    items: str
    runs: str
    events: str
    run: str
    stop: str
    force_stop: str
    status: str
    stream: str

    @classmethod
    def of(cls, project_id: str) -> "ProjectLinks":
        here = f"{PREFIX}/projects/{project_id}"
        parts = {name: f"{here}/{name}" for name in ("items", "runs", "events", "run")}
        queue = {name: f"{here}/queue/{name.replace('_', '-')}" for name in ("stop", "force_stop", "status", "stream")}
        return cls.model_validate({"self": here, **parts, **queue})


class ProjectView(BaseModel):
    """A project, with the state of its queue and the number of its items in each status."""

    project_id: str
    name: str
    tenant: str | None
    queue_state: QueueState
    items: ItemCounts
    created_at: datetime
    updated_at: datetime
    links: ProjectLinks

    @classmethod
    def of(cls, project: Project) -> "ProjectView":
        values = {**project.__dict__, "queue_state": in_utc(project.queue_state)}
        known = {name: values[name] for name in cls.model_fields if name != "links"}
        return cls.model_construct(**convert_to_utc(known), links=ProjectLinks.of(project.project_id))


class ProjectQuery(PageQuery):
    tenant: str | None = None


class ItemQuery(PageQuery):
    status: ItemStatus | None = None


def in_utc(view: _View) -> _View:
    return view.model_construct(**convert_to_utc(view.__dict__))


def parse_project_id(request: Request) -> str:
    project_id: str = request.path_params["project_id"]
    if not is_project_id(project_id):
        raise ProjectNotFound(project_id)
    return project_id


async def post_project(request: Request) -> Response:
    body = await read_body(request, NewProjectBody, large=True)
    items = [item.to_item() for item in body.items]
    view = ProjectView.of(await run_verb(request, create_project, body.name, tenant=body.tenant, items=items))
    return send_json(view, 201, {"Location": view.links.self})


async def get_list(request: Request) -> Response:
    query = parse_query(request, ProjectQuery)

    async def read(before: str | None, limit: int) -> list[Project]:
        return await run_verb(request, list_projects, tenant=query.tenant, before=before, limit=limit)

    return await send_page(query, Listing(read, ProjectView.of, lambda each: each.project_id, is_project_id))


async def get_one(request: Request) -> Response:
    return send_json(ProjectView.of(await run_verb(request, get_project, parse_project_id(request))))


async def post_items(request: Request) -> Response:
    project_id = parse_project_id(request)
    new, is_single = await parse(await read_raw_body(request, large=True), _parse_items)
    added = await run_verb(request, _add_items, project_id, new, is_single)
    return send_json(in_utc(added[0]) if is_single else Page[Item](items=[in_utc(item) for item in added]), 201)


def _parse_items(raw: bytes) -> tuple[list[NewItem], bool]:
    """Returns the items, and whether the body is a single one."""
    if _is_single(raw):
        return [parse_body(raw, NewItemBody).to_item()], True
    return [item.to_item() for item in parse_body(raw, NewItemsBody).items], False


def _is_single(raw: bytes) -> bool:
    """Whether the body is an item, not a list of them. A body that is no JSON is refused later."""
    with suppress(jsonsafe.UnsafeJson):
        body = jsonsafe.parse(raw)
        return isinstance(body, dict) and "items" not in body and "title" in body
    return False


def _add_items(project_id: str, new: list[NewItem], is_single: bool, *, caller: Caller = SYSTEM) -> list[Item]:
    try:
        return add_items(project_id, new, caller=caller)
    except InvalidPayload as refused:  # names the item by its place in a list, which a single one does not have
        if not is_single:
            raise
        name = refused.field.removeprefix("items.0.")
        raise Problem.at_field("invalid-input", name, str(refused).removeprefix(f"{refused.field}: ")) from None


async def get_items(request: Request) -> Response:
    query = parse_query(request, ItemQuery)
    project_id = parse_project_id(request)

    async def read(position: str | None, limit: int) -> list[Item]:
        after = int(position or 0)
        return await run_verb(request, list_items, project_id, status=query.status, after=after, limit=limit)

    return await send_page(query, Listing(read, in_utc, lambda item: str(item.position), is_position))


async def post_item_retry(request: Request) -> Response:
    project_id, item_id = parse_project_id(request), request.path_params["item_id"]
    if not is_item_id(item_id):
        raise ItemNotFound(project_id, item_id)
    return send_json(in_utc(await run_verb(request, retry_item, project_id, item_id)))


OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/projects",
        post_project,
        "Create a project, empty or with its first items",
        {201: ProjectView},
        body=NewProjectBody,
        sends=("Location",),
        problems=BODY_PROBLEMS,
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/projects",
        get_list,
        "List projects with the state of their queues, newest first",
        {200: Page[ProjectView]},
        query=ProjectQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/projects/{{project_id}}",
        get_one,
        "Show a project with the state of its queue",
        {200: ProjectView},
        problems=("project-not-found",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/projects/{{project_id}}/items",
        post_items,
        "Add items to the end of a project, all or none; or a single item, which is the answer then",
        {201: Page[Item]},
        body=NewItemsBody,
        problems=("project-not-found", *BODY_PROBLEMS),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/projects/{{project_id}}/items",
        get_items,
        "List the items of a project in their order",
        {200: Page[Item]},
        query=ItemQuery,
        problems=("project-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/projects/{{project_id}}/items/{{item_id}}/retry",
        post_item_retry,
        "Put a failed item back: the next run can take it",
        {200: Item},
        problems=("project-not-found", "item-not-found", "illegal-transition"),
        role="submitter",
        scope="tenant",
    ),
]
