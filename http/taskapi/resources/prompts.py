"""Prompts: texts that are stored under a name, for each tenant."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from state.errors import PromptNotFound
from state.media.prompts import get_prompt, put_prompt
from taskapi.api.bodies import read_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.parameters import TenantQuery, parse_query
from taskapi.api.verbs import run_verb


class PromptView(BaseModel):
    id: str
    tenant: str | None
    text: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "PromptView":
        return cls.model_construct(**convert_to_utc(row))


class PromptBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    text: str


async def get_one(request: Request) -> Response:
    query = parse_query(request, TenantQuery)
    prompt_id: str = request.path_params["prompt_id"]
    if not prompt_id.isprintable():  # Postgres refuses a NUL character even in a search
        raise PromptNotFound(prompt_id)
    return send_json(PromptView.of(await run_verb(request, get_prompt, prompt_id, query.tenant)))


async def put_one(request: Request) -> Response:
    query = parse_query(request, TenantQuery)
    body = await read_body(request, PromptBody, large=True)
    prompt_id: str = request.path_params["prompt_id"]
    return send_json(PromptView.of(await run_verb(request, put_prompt, prompt_id, body.text, query.tenant)))


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/prompts/{{prompt_id}}",
        get_one,
        "Show a stored prompt",
        {200: PromptView},
        query=TenantQuery,
        problems=("prompt-not-found", "invalid-parameter"),
        role="reader",
        scope="tenant",
    ),
    Operation(
        "PUT",
        f"{PREFIX}/prompts/{{prompt_id}}",
        put_one,
        "Store or replace a prompt",
        {200: PromptView},
        body=PromptBody,
        query=TenantQuery,
        problems=(*BODY_PROBLEMS, "invalid-parameter"),
        role="submitter",
        scope="tenant",
    ),
]
