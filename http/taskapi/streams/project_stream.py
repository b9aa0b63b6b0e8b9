"""GET /projects/{id}/queue/stream: the changes of a project's queue and items, as they are written."""

from starlette.requests import Request
from starlette.responses import Response

from state.projects.reads import get_project, get_projects_of_many
from state.tasks.events import EVENT_KINDS
from taskapi.api.operation import PREFIX, Operation
from taskapi.resources.projects import ProjectView, parse_project_id
from taskapi.streams.following import StreamQuery, follow
from taskapi.streams.sse import MEDIA_TYPE
from taskapi.streams.subject import Subject

PROJECT = Subject("project", get_project, get_projects_of_many, ProjectView.of, may_end=lambda _: None)


async def get_stream(request: Request) -> Response:
    return await follow(request, PROJECT, parse_project_id(request))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/projects/{{project_id}}/queue/stream",
        get_stream,
        "Follow a project: a snapshot, then the events of its history as they are written; does not end by itself",
        {200: MEDIA_TYPE},
        description="\n".join(f"- `{kind}`: {EVENT_KINDS[kind]}" for kind in ("queue", "item")),
        query=StreamQuery,
        by_token=True,
        headers=("Last-Event-ID",),
        problems=("project-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
]
