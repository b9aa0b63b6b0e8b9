"""Parameters in the OpenAPI document: of the path, of the query, and headers of requests."""

import re
from typing import Any

from state.tasks.ids import ID_PATTERNS
from taskapi.api.operation import Operation

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "Idempotency-Key": (
        {"type": "string", "pattern": "^[ -~]{1,255}$"},
        "Makes the request safe to repeat for 24 hours: the same key and body get the same answer.",
    ),
    "If-None-Match": ({"type": "string"}, "The ETag of what the client has: 304 if nothing has changed."),
    "Last-Event-ID": ({"type": "string", "pattern": "^[0-9]{1,10}$"}, "The id of the last event that was seen."),
    "Range": ({"type": "string"}, "One range of bytes, such as `bytes=0-1023`."),
}


def strip_converters(path: str) -> str:
    """Turns {key:path}, which only the router understands, into {key}."""
    return re.sub(r":\w+}", "}", path)


def describe_parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = re.findall(r"{(\w+)}", strip_converters(operation.path))
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _describe_path_parameter(name)} for name in in_path
    ]
    for name in operation.headers:
        schema, description = _HEADERS[name]
        parameters.append({"name": name, "in": "header", "description": description, "schema": schema})
    return parameters + _describe_query(operation)


def _describe_path_parameter(name: str) -> dict[str, Any]:
    if name in ID_PATTERNS:
        return {"type": "string", "pattern": f"^{ID_PATTERNS[name]}$"}
    return _NAME


def _describe_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    model = operation.query.model_json_schema()
    required = model.get("required", [])
    parameters = []
    for name, schema in model["properties"].items():
        parameter: dict[str, Any] = {"name": name, "in": "query", "required": name in required}
        if description := schema.pop("description", None):
            parameter["description"] = description
        parameter["schema"] = _without_null(schema)
        parameters.append(parameter)
    return parameters


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query cannot have a null: a parameter that is not given is left out."""
    options = [each for each in schema.pop("anyOf", []) if each != {"type": "null"}]
    if schema.get("default", 0) is None:
        del schema["default"]
    if not options:
        return schema
    return {**schema, **(options[0] if len(options) == 1 else {"anyOf": options})}
