"""POST /stream-tokens: a token for one path, for clients such as EventSource that cannot send a header."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from taskapi.access.authorization import get_access, get_caller, require_permission
from taskapi.access.tokens import make_token
from taskapi.api.bodies import read_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.problems import Problem


class StreamTokenBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    path: str = Field(max_length=500, description="Of a stream or a content, such as /api/v1/tasks/tq_…/stream.")


class StreamToken(BaseModel):
    """Add it to the path as `?token=…`. Null: this server asks for no key, so no token is needed."""

    token: str | None
    expires_at: datetime | None


def make_operation(operations: Sequence[Operation]) -> Operation:
    """Makes the operation. It knows the paths of all operations that take a token."""
    patterns = [(compile_path(path)[0], each) for each in operations if each.by_token for path in each.paths]

    async def post_one(request: Request) -> Response:
        body = await read_body(request, StreamTokenBody)
        path = body.path.rstrip("/")
        named = next((operation for pattern, operation in patterns if pattern.match(path)), None)
        if named is None:
            message = "must be the path of a stream or a content, without a query"
            raise Problem.at_field("invalid-input", "path", message)
        caller = get_caller(request)
        require_permission(caller, named)
        key = await get_access(request).find_own_key(caller)
        headers = {"Cache-Control": "no-store"}
        if key is None:
            return send_json(StreamToken(token=None, expires_at=None), headers=headers)
        token, expires = make_token(key, path)
        return send_json(StreamToken(token=token, expires_at=datetime.fromtimestamp(expires, UTC)), headers=headers)

    return Operation(
        "POST",
        f"{PREFIX}/stream-tokens",
        post_one,
        "Get a token with which EventSource can follow one stream, or <img> show one content",
        {200: StreamToken},
        body=StreamTokenBody,
        problems=BODY_PROBLEMS,
        role="reader",
        scope="any",
    )
