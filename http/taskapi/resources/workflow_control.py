"""Control of workflows: cancel, resume, decisions on approvals, and tasks that are added."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.workflows import approve, cancel_workflow, create_task, reject, resume_workflow
from taskapi.api.bodies import read_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, Operation
from taskapi.api.priorities import Priority
from taskapi.api.verbs import run_verb
from taskapi.resources.workflows import HERE, StepView, WorkflowView, parse_workflow_id


class DecisionBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    by: str = Field(min_length=1, max_length=200, description="Who has decided.")
    note: str | None = Field(None, min_length=1, max_length=2000)


class AddedTaskBody(BaseModel):
    """A task of an agent that a running workflow gets as a further step."""

    model_config = ConfigDict(strict=True, extra="forbid")

    agent_name: str = Field(min_length=1, max_length=200, description="See GET /api/v1/agents.")
    task_type: str = Field(min_length=1, max_length=200)
    payload: dict[str, Any] = Field(description="The input of the agent.")
    priority: Priority | None = Field(None, description="Unset: the agent's default.")
    max_attempts: int | None = Field(None, ge=1, le=1000)


async def post_cancel(request: Request) -> Response:
    workflow = await run_verb(request, cancel_workflow, parse_workflow_id(request))
    return send_json(WorkflowView.of(workflow), 200 if workflow.finished else 202)


async def post_resume(request: Request) -> Response:
    return send_json(WorkflowView.of(await run_verb(request, resume_workflow, parse_workflow_id(request))))


async def post_approve(request: Request) -> Response:
    workflow_id, key = parse_workflow_id(request), request.path_params["key"]
    body = await read_body(request, DecisionBody)
    return send_json(WorkflowView.of(await run_verb(request, approve, workflow_id, key, by=body.by, note=body.note)))


async def post_reject(request: Request) -> Response:
    workflow_id, key = parse_workflow_id(request), request.path_params["key"]
    body = await read_body(request, DecisionBody)
    return send_json(WorkflowView.of(await run_verb(request, reject, workflow_id, key, by=body.by, note=body.note)))


async def post_task(request: Request) -> Response:
    workflow_id = parse_workflow_id(request)
    body = await read_body(request, AddedTaskBody, large=True)
    step = await run_verb(
        request,
        create_task,
        workflow_id,
        body.agent_name,
        body.task_type,
        body.payload,
        priority=body.priority,
        max_attempts=body.max_attempts,
    )
    return send_json(StepView.of(step), 202)


_DECISION_PROBLEMS = ("workflow-not-found", "step-not-found", "illegal-transition", *BODY_PROBLEMS)

OPERATIONS = [
    Operation(
        "POST",
        f"{HERE}/cancel",
        post_cancel,
        "Cancel a workflow and everything of it that lives: 202 if workers must stop first",
        {200: WorkflowView, 202: WorkflowView},
        problems=("workflow-not-found", "illegal-transition"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{HERE}/resume",
        post_resume,
        "Let a failed or escalated workflow go on after its steps were repaired",
        {200: WorkflowView},
        problems=("workflow-not-found", "illegal-transition", "steps-still-failed"),
        role="submitter",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{HERE}/steps/{{key}}/approve",
        post_approve,
        "Approve a step that waits for it",
        {200: WorkflowView},
        body=DecisionBody,
        problems=_DECISION_PROBLEMS,
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{HERE}/steps/{{key}}/reject",
        post_reject,
        "Reject a step that waits for approval: the step has failed",
        {200: WorkflowView},
        body=DecisionBody,
        problems=_DECISION_PROBLEMS,
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{HERE}/tasks",
        post_task,
        "Add a step with one task to a running workflow, and start it",
        {202: StepView},
        body=AddedTaskBody,
        problems=("workflow-not-found", "workflow-not-running", "invalid-workflow", *BODY_PROBLEMS),
        role="submitter",
        scope="tenant",
    ),
]
