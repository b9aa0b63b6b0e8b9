"""The steps of a workflow: one with what it has taken and returned, and its tasks."""

import re

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from state.errors import StepNotFound
from state.tasks.ids import is_task_id
from state.tasks.reads import ListedTask
from state.transitions import Status
from state.workflows.definition import KEY
from state.workflows.reads import get_workflow
from state.workflows.steps import get_step, list_step_tasks
from taskapi.api.bodies import send_json
from taskapi.api.operation import Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.verbs import run_verb
from taskapi.resources.tasks import ListedTaskView
from taskapi.resources.workflows import HERE, StepView, parse_workflow_id


class StepTasksQuery(PageQuery):
    status: Status | None = Field(None, description="Only tasks in this status.")


async def get_one_step(request: Request) -> Response:
    workflow_id, key = parse_workflow_id(request), await _parse_key(request)
    return send_json(StepView.of(await run_verb(request, get_step, workflow_id, key)))


async def get_tasks_of_step(request: Request) -> Response:
    query = parse_query(request, StepTasksQuery)
    workflow_id, key = parse_workflow_id(request), await _parse_key(request)

    async def read(after: str | None, limit: int) -> list[ListedTask]:
        return await run_verb(request, list_step_tasks, workflow_id, key, status=query.status, after=after, limit=limit)

    return await send_page(query, Listing(read, ListedTaskView.of, lambda task: task.task_id, is_task_id))


async def _parse_key(request: Request) -> str:
    key: str = request.path_params["key"]
    if re.fullmatch(KEY, key) is None:  # it may have characters that Postgres cannot store
        workflow_id = parse_workflow_id(request)
        await run_verb(request, get_workflow, workflow_id, brief=True)
        raise StepNotFound(workflow_id, key)
    return key


OPERATIONS = [
    Operation(
        "GET",
        f"{HERE}/steps/{{key}}",
        get_one_step,
        "Show a step of a workflow with its input and result",
        {200: StepView},
        problems=("workflow-not-found", "step-not-found"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "GET",
        f"{HERE}/steps/{{key}}/tasks",
        get_tasks_of_step,
        "List the tasks of a step, in the order of its list",
        {200: Page[ListedTaskView]},
        query=StepTasksQuery,
        problems=("workflow-not-found", "step-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
