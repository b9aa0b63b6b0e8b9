"""GET /workflows/{id}/stream: the history of a workflow as it is written."""

from starlette.requests import Request
from starlette.responses import Response

from state.tasks.events import EVENT_KINDS, Event
from state.workflows.reads import get_followed_workflows, get_workflow
from taskapi.api.operation import Operation
from taskapi.resources.workflows import HERE, WorkflowView, parse_workflow_id
from taskapi.streams.following import StreamQuery, follow
from taskapi.streams.sse import MEDIA_TYPE
from taskapi.streams.subject import Subject


def _may_end(event: Event) -> bool | None:
    """Tasks that ran when the workflow ended run on: the end of the last one ends its history."""
    return event.data.get("to") not in ("pending", "running", "waiting")


WORKFLOW = Subject("workflow", get_workflow, get_followed_workflows, WorkflowView.of, _may_end)


async def get_stream(request: Request) -> Response:
    return await follow(request, WORKFLOW, parse_workflow_id(request))


OPERATIONS = [
    Operation(
        "GET",
        f"{HERE}/stream",
        get_stream,
        "Follow a workflow: a snapshot, then its events as they are written, then `done`; 204 after that",
        {200: MEDIA_TYPE, 204: None},
        description=f"- `status`: The workflow has moved.\n- `step`: {EVENT_KINDS['step']}",
        query=StreamQuery,
        by_token=True,
        headers=("Last-Event-ID",),
        problems=("workflow-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
