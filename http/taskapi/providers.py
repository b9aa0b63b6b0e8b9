"""The services behind the work: what they can do, and what a request to one would cost."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from providers import language, media
from providers.errors import InvalidInput
from providers.media.protocol import MediaProvider
from taskapi.bodies import parse_body, read_body
from taskapi.problems import Problem, at_field
from taskapi.requests import PreviewBody
from taskapi.views import ActionView, Page, PreviewView, ProviderLimits, ProviderView, answer


async def get_providers(_: Request) -> Response:
    views = [_media_view(name) for name in media.registry.names()]
    views += [_language_view(name) for name in language.registry.names()]
    return answer(Page[ProviderView](items=views))


async def post_preview(request: Request) -> Response:
    name: str = request.path_params["name"]
    body = parse_body(await read_body(request), PreviewBody)
    provider = _known(name)
    if body.action_type not in provider.actions:
        raise at_field("invalid-input", "action_type", f"{name} has {', '.join(sorted(provider.actions))}")
    try:
        params = media.registry.parse_params(name, body.action_type, body.params)
    except InvalidInput as refused:
        raise _refusal(refused) from None
    preview = provider.preview(body.action_type, params)
    return answer(PreviewView(provider=name, action_type=body.action_type, **asdict(preview)))


def _known(name: str) -> MediaProvider:
    known = media.registry.names()
    if name not in known:
        raise Problem("unknown-provider", f"There is no media provider {name!r}.", {"known": known})
    return media.registry.get(name)


def _refusal(refused: InvalidInput) -> Problem:
    """The first of what is wrong, named as the client wrote it."""
    first = refused.details["errors"][0]
    return at_field("invalid-input", ".".join(map(str, ("params", *first["loc"]))), first["msg"])


def _media_view(name: str) -> ProviderView:
    said = media.registry.describe(name)
    return ProviderView(
        name=name,
        kind="media",
        available=said["available"],
        missing=said["missing"],
        limits=ProviderLimits(concurrency=said["concurrency"], poll_seconds=said["poll_seconds"]),
        actions={action: ActionView(**described) for action, described in said["actions"].items()},
    )


def _language_view(name: str) -> ProviderView:
    missing = language.registry.get(name).available()
    limits = ProviderLimits(concurrency=None, poll_seconds=None)
    return ProviderView(
        name=name, kind="language", available=missing is None, missing=missing, limits=limits, actions={}
    )
