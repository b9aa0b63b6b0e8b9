"""The media providers, their limits, and the check of a request before it is submitted."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from providers.errors import InvalidInput
from providers.media.protocol import ActionParams, MediaProvider, SourceData
from providers.registry import Registry

_registry: Registry[MediaProvider] = Registry("media")
register = _registry.register
get = _registry.get
list_names = _registry.list_names
get_concurrency = _registry.get_concurrency


def get_params_model(name: str, action: str) -> type[ActionParams]:
    actions = get(name).actions
    if action not in actions:
        known = ", ".join(sorted(actions))
        raise InvalidInput(f"Provider {name} has no action {action!r}; it has: {known}")
    return actions[action]


def parse_params(name: str, action: str, params: Mapping[str, Any]) -> ActionParams:
    try:
        return get_params_model(name, action).model_validate(params)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        text = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'params'}: {each['msg']}" for each in problems)
        message = f"Invalid params for {name} {action}: {text}"
        raise InvalidInput(message, details={"errors": problems}) from None


def check(
    name: str, action: str, prompt: str | None, params: Mapping[str, Any], source_data: SourceData | None
) -> ActionParams:
    """Returns the typed params of a request. Raises InvalidInput with the reason if it cannot be submitted."""
    missing = get(name).find_missing_variable()
    if missing:
        raise InvalidInput(f"Provider {name} is not available: set {missing}", details={"missing": missing})
    model = get_params_model(name, action)
    if model.needs_prompt and not (prompt or "").strip():
        raise InvalidInput(f"{name} {action} needs a prompt")
    if model.needs_source and source_data is None:
        raise InvalidInput(f"{name} {action} needs source_data")
    return parse_params(name, action, params)


def describe(name: str) -> dict[str, Any]:
    """Returns a provider as GET /providers shows it."""
    provider = get(name)
    missing = provider.find_missing_variable()
    return {
        "name": name,
        "available": missing is None,
        "missing": missing,
        "concurrency": get_concurrency(name),
        "poll_seconds": provider.poll_seconds,
        "actions": {
            action: {
                "needs_prompt": model.needs_prompt,
                "needs_source": model.needs_source,
                "params": model.model_json_schema(),
            }
            for action, model in provider.actions.items()
        },
    }
