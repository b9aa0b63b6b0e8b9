"""Providers: the external services, their actions, and a preview of what an action would cost."""

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from providers import language, media
from providers.errors import InvalidInput
from providers.media.protocol import MediaProvider
from taskapi.api.bodies import read_body, send_json
from taskapi.api.operation import BODY_PROBLEMS, PREFIX, Operation
from taskapi.api.paging import Page
from taskapi.api.problems import Problem


class ActionView(BaseModel):
    needs_prompt: bool
    needs_source: bool
    params: dict[str, Any] = Field(description="JSON schema.")


class ProviderLimits(BaseModel):
    """The limits that the code declares. The gate `provider:<name>` shows the limits that apply now."""

    concurrency: int | None
    poll_seconds: float | None


class ProviderView(BaseModel):
    name: str
    kind: Literal["media", "language"]
    available: bool
    missing: str | None = Field(description="The environment variable to set.")
    limits: ProviderLimits
    actions: dict[str, ActionView]


class PreviewBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    action_type: str = Field(description="One of the provider's actions, see GET /api/v1/providers.")
    params: dict[str, Any] = Field(default_factory=dict)


class PreviewView(BaseModel):
    """A value is null if only the provider itself knows it."""

    provider: str
    action_type: str
    cost: float | None
    unit: str | None
    width: int | None
    height: int | None
    count: int | None
    expected_seconds: float | None


async def get_list(_: Request) -> Response:
    views = [_describe_media(name) for name in media.registry.list_names()]
    views += [_describe_language(name) for name in language.registry.list_names()]
    return send_json(Page[ProviderView](items=views))


async def post_preview(request: Request) -> Response:
    name: str = request.path_params["name"]
    body = await read_body(request, PreviewBody, large=True)
    provider = _find_media_provider(name)
    if body.action_type not in provider.actions:
        message = f"{name} has {', '.join(sorted(provider.actions))}"
        raise Problem.at_field("invalid-input", "action_type", message)
    try:
        params = media.registry.parse_params(name, body.action_type, body.params)
    except InvalidInput as refused:
        first = refused.details["errors"][0]
        field = ".".join(map(str, ("params", *first["loc"])))
        raise Problem.at_field("invalid-input", field, first["msg"]) from None
    preview = provider.preview(body.action_type, params)
    return send_json(PreviewView(provider=name, action_type=body.action_type, **asdict(preview)))


def _find_media_provider(name: str) -> MediaProvider:
    known = media.registry.list_names()
    if name not in known:
        raise Problem("unknown-provider", f"There is no media provider {name!r}.", {"known": known})
    return media.registry.get(name)


def _describe_media(name: str) -> ProviderView:
    described = media.registry.describe(name)
    return ProviderView(
        name=name,
        kind="media",
        available=described["available"],
        missing=described["missing"],
        limits=ProviderLimits(concurrency=described["concurrency"], poll_seconds=described["poll_seconds"]),
        actions={action_type: ActionView(**action) for action_type, action in described["actions"].items()},
    )


def _describe_language(name: str) -> ProviderView:
    missing = language.registry.get(name).find_missing_variable()
    limits = ProviderLimits(concurrency=None, poll_seconds=None)
    return ProviderView(
        name=name, kind="language", available=missing is None, missing=missing, limits=limits, actions={}
    )


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/providers",
        get_list,
        "List the providers and their actions",
        {200: Page[ProviderView]},
        role="reader",
        scope="any",
    ),
    Operation(
        "POST",
        f"{PREFIX}/providers/{{name}}/preview",
        post_preview,
        "Show what an action would cost and return, without running it",
        {200: PreviewView},
        body=PreviewBody,
        problems=("unknown-provider", *BODY_PROBLEMS),
        role="submitter",
        scope="any",
    ),
]
