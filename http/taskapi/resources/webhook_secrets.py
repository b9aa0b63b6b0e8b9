"""The secrets that webhooks are signed with. For operators."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from state.webhooks.secrets import DEFAULT_OVERLAP, MAX_OVERLAP, Secret, list_secrets, rotate_secret, show_secret
from taskapi.api.bodies import read_optional_body, send_json
from taskapi.api.moments import convert_to_utc
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Page
from taskapi.api.parameters import TenantQuery, parse_query
from taskapi.api.verbs import run_verb

_PROBLEMS = (*(each for each in BODY_PROBLEMS if each != "empty-body"), "forbidden")
_NOT_STORED = {"Cache-Control": "no-store"}


class SecretView(BaseModel):
    """A secret, without itself."""

    tenant: str | None = Field(description="Whose tasks it is for; null: tasks without a tenant.")
    created_at: datetime
    expires_at: datetime | None = Field(
        description="null: the current one. Until then it signs beside the current one."
    )

    @classmethod
    def of(cls, secret: Secret) -> "SecretView":
        return cls(**_describe(secret))


class ShownSecret(SecretView):
    secret: str = Field(description="whsec_ and base64, as Standard Webhooks has it.")

    @classmethod
    def of(cls, secret: Secret) -> "ShownSecret":
        return cls(secret=secret.secret, **_describe(secret))


class SecretBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    tenant: str | None = Field(
        None, min_length=1, max_length=200, description="Unset: that of your key, or tasks without a tenant."
    )


class RotationBody(SecretBody):
    overlap_seconds: float = Field(
        DEFAULT_OVERLAP, ge=0, le=MAX_OVERLAP, description="How long the secret before goes on signing."
    )


def _describe(secret: Secret) -> dict[str, datetime]:
    return convert_to_utc({name: getattr(secret, name) for name in ("tenant", "created_at", "expires_at")})


async def get_list(request: Request) -> Response:
    found = await run_verb(request, list_secrets, parse_query(request, TenantQuery).tenant)
    return send_json(Page[SecretView](items=[SecretView.of(each) for each in found]))


async def post_show(request: Request) -> Response:
    body = await read_optional_body(request, SecretBody)
    return send_json(ShownSecret.of(await run_verb(request, show_secret, body.tenant)), headers=_NOT_STORED)


async def post_rotate(request: Request) -> Response:
    body = await read_optional_body(request, RotationBody)
    rotated = await run_verb(request, rotate_secret, body.tenant, body.overlap_seconds)
    return send_json(ShownSecret.of(rotated), headers=_NOT_STORED)


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/webhook-secrets",
        get_list,
        "List the secrets that webhooks are signed with now, without the secrets themselves",
        {200: Page[SecretView]},
        query=TenantQuery,
        problems=("invalid-parameter",),
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/webhook-secrets/show",
        post_show,
        "Show the current secret; the first call makes it",
        {200: ShownSecret},
        body=SecretBody,
        problems=_PROBLEMS,
        role="operator",
        scope="tenant",
    ),
    Operation(
        "POST",
        f"{PREFIX}/webhook-secrets/rotate",
        post_rotate,
        "Replace the secret; both sign until the overlap has passed",
        {200: ShownSecret},
        body=RotationBody,
        problems=_PROBLEMS,
        role="operator",
        scope="tenant",
    ),
]
