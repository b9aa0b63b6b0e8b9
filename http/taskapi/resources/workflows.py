"""Workflows: creating one, the list, one workflow with its steps, and its events."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.access.caller import SYSTEM, Caller
from state.database import AnyConnection
from state.errors import WorkflowNotFound
from state.tasks.idempotency import run_once
from state.tasks.ids import is_workflow_id
from state.workflows import StoredStep, StoredWorkflow, Workflow, create_workflow, get_workflow, list_workflows
from state.workflows.hints import announce_workflow
from state.workflows.reads import ListedWorkflow, WorkflowStatus
from taskapi.api.bodies import parse_body, read_raw_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import Flag, parse_idempotency_key, parse_query
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import EventQuery, EventView, send_events

HERE = f"{PREFIX}/workflows/{{workflow_id}}"


class WorkflowLinks(BaseModel):
    self: str
    events: str
    stream: str
    tasks: str
    cancel: str
    resume: str

    @classmethod
    def of(cls, workflow_id: str) -> "WorkflowLinks":
        here = f"{PREFIX}/workflows/{workflow_id}"
        parts = {name: f"{here}/{name}" for name in ("events", "stream", "tasks", "cancel", "resume")}
        return cls.model_validate({"self": here, **parts})


class StepView(StoredStep):
    """A step. `task_ids`: one task, or with `for_each` one for each element; `task_counts`: how many of them have each
    status. `result` is null if it has more than 256 KB (`result_bytes`), or comes after the first 16 MB of results: the
    task has it."""

    @classmethod
    def of(cls, step: StoredStep) -> "StepView":
        return cls.model_construct(**convert_to_utc(step.__dict__))


class WorkflowView(StoredWorkflow):
    """A workflow with its steps. `reason` says why it ended as it did."""

    last_event: int = Field(exclude=True)
    steps: list[StepView]  # type: ignore[assignment]
    links: WorkflowLinks

    @classmethod
    def of(cls, workflow: StoredWorkflow) -> "WorkflowView":
        steps = [StepView.of(step) for step in workflow.steps]
        values = {**convert_to_utc(workflow.__dict__), "steps": steps}
        return cls.model_construct(**values, links=WorkflowLinks.of(workflow.workflow_id))


class ListedView(ListedWorkflow):
    """A workflow in a list: the number of its steps in each status stands for the steps.
    `current_steps`: the keys of those that run or wait for a decision, at most 10."""

    links: WorkflowLinks

    @classmethod
    def of(cls, workflow: ListedWorkflow) -> "ListedView":
        links = WorkflowLinks.of(workflow.workflow_id)
        return cls.model_construct(**convert_to_utc(workflow.__dict__), links=links)


class BriefQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    brief: Flag = Field(False, description="Without the inputs and results of its steps: they are null.")


class WorkflowQuery(PageQuery):
    status: WorkflowStatus | None = None
    tenant: str | None = None


def parse_workflow_id(request: Request) -> str:
    workflow_id: str = request.path_params["workflow_id"]
    if not is_workflow_id(workflow_id):
        raise WorkflowNotFound(workflow_id)
    return workflow_id


async def post_workflow(request: Request) -> Response:
    return await run_verb(request, _create, await read_raw_body(request, large=True), parse_idempotency_key(request))


def _create(raw: bytes, key: str | None, *, caller: Caller = SYSTEM) -> Response:
    workflow = parse_body(raw, Workflow)

    def create(conn: AnyConnection | None) -> dict[str, Any]:
        view = WorkflowView.of(create_workflow(workflow, conn=conn, caller=caller))
        return {"workflow_id": view.workflow_id, "body": view.model_dump_json()}

    headers: dict[str, str] = {}
    if key is None:
        accepted = create(None)
    else:
        accepted, replayed = run_once(key, "workflows", workflow.tenant, raw, create, caller=caller)
        if replayed:
            headers["Idempotent-Replayed"] = "true"
        announce_workflow(accepted["workflow_id"])
    headers["Location"] = WorkflowLinks.of(accepted["workflow_id"]).self
    return Response(accepted["body"], 202, headers, "application/json")


async def get_list(request: Request) -> Response:
    query = parse_query(request, WorkflowQuery)

    async def read(before: str | None, limit: int) -> list[ListedWorkflow]:
        return await run_verb(
            request, list_workflows, status=query.status, tenant=query.tenant, before=before, limit=limit
        )

    return await send_page(query, Listing(read, ListedView.of, lambda each: each.workflow_id, is_workflow_id))


async def get_one(request: Request) -> Response:
    query = parse_query(request, BriefQuery)
    workflow = await run_verb(request, get_workflow, parse_workflow_id(request), brief=query.brief)
    return send_json(WorkflowView.of(workflow))


async def get_events_of_one(request: Request) -> Response:
    return await send_events(request, get_workflow, parse_workflow_id(request))


OPERATIONS = [
    Operation(
        "POST",
        f"{PREFIX}/workflows",
        post_workflow,
        "Create a workflow and start it",
        {202: WorkflowView},
        body=Workflow,
        headers=("Idempotency-Key",),
        sends=("Location",),
        problems=(
            *BODY_PROBLEMS, "invalid-workflow", "invalid-parameter", "idempotency-pending", "idempotency-conflict"
        ),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{PREFIX}/workflows",
        get_list,
        "List workflows, newest first",
        {200: Page[ListedView]},
        query=WorkflowQuery,
        problems=("invalid-parameter",),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        HERE,
        get_one,
        "Show a workflow with its steps",
        {200: WorkflowView},
        query=BriefQuery,
        problems=("workflow-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{HERE}/events",
        get_events_of_one,
        "List the events of a workflow's history",
        {200: Page[EventView]},
        query=EventQuery,
        problems=("workflow-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]  # fmt: skip
