"""Providers by name, and the check of a request before anybody pays for it."""

import json
from typing import Any, Never

import pytest

from providers.errors import InvalidInput
from providers.media import registry
from providers.media.protocol import Limits
from providers.registry import Registry
from tests.providers.media import source_of
from tests.providers.servers import leonardo


def test_the_built_in_providers_and_their_limits() -> None:
    limits = {name: registry.get_concurrency(name) for name in registry.list_names()}
    assert limits == {"leonardo": 3, "local": 8, "midjourney": 1}


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'dalle'; known are: leonardo, local, midjourney"):
        registry.get("dalle")
    with pytest.raises(InvalidInput, match="no action 'dance'; it has: img2img"):
        registry.parse_params("local", "dance", {})


@pytest.mark.parametrize("name", registry.list_names())
def test_a_provider_describes_itself(name: str) -> None:
    described = registry.describe(name)
    json.dumps(described)
    assert described["actions"]["txt2img"]["needs_prompt"]
    assert not described["actions"]["txt2img"]["needs_source"]
    assert described["actions"]["upscale"]["needs_source"]
    for action in described["actions"].values():
        assert action["params"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "variable"), [("leonardo", "LEONARDO_API_KEY"), ("midjourney", "MIDJOURNEY_BASE_URL")]
)
def test_without_its_variable_a_provider_is_unavailable_and_says_which(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert registry.describe(name)["missing"] == variable
    with pytest.raises(InvalidInput, match=f"set {variable}") as caught:
        registry.check(name, "txt2img", "a cat", {}, None)
    assert caught.value.details == {"missing": variable}
    monkeypatch.setenv(variable, "")
    assert registry.get(name).find_missing_variable() == variable
    monkeypatch.setenv(variable, leonardo.KEY)
    assert registry.describe(name)["available"]


@pytest.mark.parametrize(
    ("action", "prompt", "params", "complaint"),
    [
        ("txt2img", " ", {}, "needs a prompt"),
        ("txt2img", None, {}, "needs a prompt"),
        ("upscale", None, {}, "needs source_data"),
        ("txt2img", "a cat", {"width": 8}, "width: Input should be greater"),
        ("txt2img", "a cat", {"colour": "red"}, "colour: Extra inputs are not permitted"),
        ("txt2img", "a cat", {"steps": "many"}, "steps: Input should be a valid integer"),
    ],
)
def test_a_request_that_cannot_work_is_refused_with_the_reason(
    action: str, prompt: str | None, params: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        registry.check("local", action, prompt, params, None)


@pytest.mark.parametrize(
    ("name", "action", "params"),
    [
        ("leonardo", "txt2img", {"width": 1000, "height": 1001}),
        ("leonardo", "txt2img", {"width": 1024, "count": 5}),
        ("leonardo", "img2img", {"strength": 0.95}),
        ("leonardo", "upscale", {"multiplier": 3}),
        ("midjourney", "txt2img", {"aspect_ratio": "16:9 --fast"}),
        ("midjourney", "txt2img", {"negative_prompt": "fog --v 1"}),
        ("midjourney", "upscale", {}),
        ("midjourney", "upscale", {"index": 5}),
        ("midjourney", "reroll", {"index": 1}),
    ],
)
def test_params_of_the_remote_providers_are_bounded(name: str, action: str, params: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        registry.parse_params(name, action, params)


@pytest.mark.parametrize("name", ["leonardo", "midjourney"])
@pytest.mark.parametrize("action", ["txt2img", "upscale"])
def test_preview_does_not_call_out(name: str, action: str) -> None:
    params = registry.parse_params(name, action, {"index": 1} if (name, action) == ("midjourney", "upscale") else {})
    preview = registry.get(name).preview(action, params)
    assert preview.cost is None
    assert preview.expected_seconds is not None
    assert preview.expected_seconds > 0


def test_a_source_is_accepted(image: bytes) -> None:
    registry.check("local", "upscale", None, {}, source_of(image))


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name


class Broken(Plain):
    @property
    def limits(self) -> Never:
        raise RuntimeError("no configuration")


class Odd(Plain):
    limits = Limits(concurrency="three")  # type: ignore[arg-type]


class Modest(Plain):
    limits = Limits(concurrency=4)


@pytest.mark.parametrize(
    ("provider", "options", "expected"),
    [
        (Plain, {}, 1),
        (Broken, {}, 1),
        (Odd, {}, 1),
        (Modest, {}, 4),
        (Modest, {"concurrency": 2}, 2),
        (Broken, {"concurrency": 5}, 5),
    ],
)
def test_a_limit_is_the_one_registered_else_the_providers_own_else_one(
    provider: type[Plain], options: dict[str, int], expected: int
) -> None:
    providers: Registry[Any] = Registry("test")
    providers.register(provider("x"), **options)
    assert providers.get_concurrency("x") == expected
