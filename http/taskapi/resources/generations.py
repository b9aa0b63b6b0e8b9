"""Generations: the requests to media providers and their results."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from state.errors import GenerationNotFound
from state.media.generations import get_generation
from state.tasks.ids import is_generation_id
from taskapi.api.bodies import send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.verbs import run_verb


class MadeContent(BaseModel):
    content_id: str
    media_type: str
    size: int
    sha256: str
    url: str


class GenerationView(BaseModel):
    """A request to a media provider and its result."""

    id: str
    task_id: str
    tenant: str | None
    provider: str
    action_type: str
    prompt: str | None
    request: dict[str, Any]
    raw_response: dict[str, Any] | None
    status: str
    task_status: str
    error: dict[str, Any] | None
    contents: list[MadeContent]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "GenerationView":
        contents = [MadeContent(**each, url=f"{PREFIX}/contents/{each['content_id']}") for each in row["contents"]]
        return cls.model_construct(**convert_to_utc({**row, "contents": contents}))


async def get_one(request: Request) -> Response:
    return send_json(GenerationView.of(await run_verb(request, get_generation, _parse_generation_id(request))))


def _parse_generation_id(request: Request) -> str:
    generation_id: str = request.path_params["generation_id"]
    if not is_generation_id(generation_id):
        raise GenerationNotFound(generation_id)
    return generation_id


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/generations/{{generation_id}}",
        get_one,
        "Show a request to a media provider and its result",
        {200: GenerationView},
        problems=("generation-not-found",),
        role="reader",
        scope="tenant",
    ),
]
