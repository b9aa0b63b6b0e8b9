"""API keys: the list, a new one, the end of one. For operators without a tenant."""

from dataclasses import asdict
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.access.caller import Role
from state.access.keys import MAX_NAME, MAX_RATE_LIMIT, ApiKey, create_key, list_keys, revoke_key
from state.tasks.ids import is_key_id
from taskapi.access.authorization import get_access
from taskapi.api.bodies import read_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Listing, Page, PageQuery, send_page
from taskapi.api.parameters import parse_query
from taskapi.api.verbs import run_verb


class KeyView(BaseModel):
    """An API key without its secret."""

    key_id: str
    name: str
    role: Role
    tenant: str | None = Field(description="The key sees and changes only what belongs to this tenant; null: all.")
    rate_limit: int | None = Field(description="Requests a minute, at each server process; null: any number.")
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None = Field(description="Up to a minute late.")
    revoked_at: datetime | None
    revoked_by: str | None

    @classmethod
    def of(cls, key: ApiKey) -> "KeyView":
        return cls(**_describe(key))


class NewKey(KeyView):
    """A key that was just created. The answer is the only place where the key itself can be read."""

    key: str

    @classmethod
    def of_new(cls, created: tuple[ApiKey, str]) -> "NewKey":
        key, text = created
        return cls(key=text, **_describe(key))


class KeyBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1, max_length=MAX_NAME, description="Who uses it; the history of tasks shows it.")
    role: Role
    tenant: str | None = Field(None, min_length=1, max_length=MAX_NAME)
    rate_limit: int | None = Field(None, ge=1, le=MAX_RATE_LIMIT)


def _describe(key: ApiKey) -> dict[str, object]:
    row = asdict(key)
    return convert_to_utc({"key_id": row.pop("id"), **row})


async def get_list(request: Request) -> Response:
    query = parse_query(request, PageQuery)

    async def read(before: str | None, limit: int) -> list[ApiKey]:
        return await run_verb(request, list_keys, before=before, limit=limit)

    return await send_page(query, Listing(read, KeyView.of, lambda key: key.id, is_key_id))


async def post_one(request: Request) -> Response:
    body = await read_body(request, KeyBody)
    created = await run_verb(request, create_key, body.name, body.role, tenant=body.tenant, rate_limit=body.rate_limit)
    await get_access(request).apply_changes()
    return send_json(NewKey.of_new(created), 201, {"Cache-Control": "no-store"})


async def delete_one(request: Request) -> Response:
    await run_verb(request, revoke_key, request.path_params["key_id"])
    await get_access(request).apply_changes()
    return Response(status_code=204)


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/keys",
        get_list,
        "List the API keys, newest first, revoked ones as well",
        {200: Page[KeyView]},
        query=PageQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="all",
    ),
    Operation(
        "POST",
        f"{PREFIX}/keys",
        post_one,
        "Create an API key; the answer is the only one that shows it",
        {201: NewKey},
        body=KeyBody,
        problems=BODY_PROBLEMS,
        role="operator",
        scope="all",
    ),
    Operation(
        "DELETE",
        f"{PREFIX}/keys/{{key_id}}",
        delete_one,
        "Revoke an API key; its open streams end",
        {204: None},
        problems=("key-not-found", "last-operator-key"),
        role="operator",
        scope="all",
    ),
]
