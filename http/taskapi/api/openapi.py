"""GET /openapi.json: the OpenAPI document, built from the operations and their models."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from taskapi.api.examples import find_example
from taskapi.api.openapi_parameters import describe_parameters, strip_converters
from taskapi.api.openapi_responses import COMMON_HEADERS, Schemas, describe_problems, describe_responses
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.problems import ProblemView

_REFERENCE = "#/components/schemas/{model}"
_ABOUT = """Long, expensive work that is never lost and can always be watched.

Errors are problem documents (RFC 9457); `error` has the token. Lists answer `{items, next_cursor}`. HEAD is answered
like GET.

Every operation says which role it needs (`x-role`: reader, submitter, operator; each may do what the ones before may)
and what it concerns (`x-scope`: `tenant`, the rows of the key's tenant; `all`, the whole system, for keys without a
tenant; `any`, neither). On a server without any key, programs of the same machine need none."""
_SECURITY_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (`callboard keys create`): `Authorization: Bearer cbk_…`",
    },
    "stream_token": {
        "type": "apiKey",
        "in": "query",
        "name": "token",
        "description": "For one path and five minutes, from POST /api/v1/stream-tokens: EventSource sends no headers.",
    },
}


def make_operation(operations: Sequence[Operation]) -> Operation:
    """Makes the operation that serves the document. The first request builds it."""
    build = cache(lambda: build_document(operations))

    async def get_openapi(_: Request) -> Response:
        return JSONResponse(build())

    return Operation(
        "GET",
        "/openapi.json",
        get_openapi,
        "Describe this API",
        {200: "application/json"},
        role="anyone",
        scope="any",
    )


def build_document(operations: Sequence[Operation]) -> dict[str, Any]:
    references, definitions = models_json_schema(_list_models(operations), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        description = _describe(operation, references)
        for path in operation.paths:
            shown = strip_converters(path)
            names = {"operationId": _name(operation.method, shown), "tags": [_tag(shown)]}
            old = {"deprecated": True} if path in operation.older_paths else {}
            paths.setdefault(shown, {})[operation.method.lower()] = {**names, **description, **old}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Callboard", "version": version("callboard"), "description": _ABOUT},
        "tags": [{"name": name} for name in dict.fromkeys(_tag(path) for path in paths)],
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": _SECURITY_SCHEMES,
            "headers": COMMON_HEADERS,
            "responses": describe_problems(operations, references),
        },
    }


def _name(method: str, path: str) -> str:
    """Returns the operation's id: GET /api/v1/tasks/{task_id} is get_tasks_task_id."""
    return "_".join([method.lower(), *re.findall(r"\w+", path.removeprefix(PREFIX))])


def _tag(path: str) -> str:
    return path.removeprefix(PREFIX).split("/")[1] if path.startswith(PREFIX) else "server"


def _list_models(operations: Sequence[Operation]) -> list[tuple[type[BaseModel], JsonSchemaMode]]:
    models: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(ProblemView, "serialization"): None}
    for operation in operations:
        if operation.body is not None:
            models[operation.body, "validation"] = None
        for body in operation.responses.values():
            if isinstance(body, type):
                models[body, "serialization"] = None
    return list(models)


def _describe(operation: Operation, references: Schemas) -> dict[str, Any]:
    description: dict[str, Any] = {
        "summary": operation.summary,
        "description": "\n\n".join(part for part in (operation.description, _describe_access(operation)) if part),
        "parameters": describe_parameters(operation),
        "security": _describe_security(operation),
        "x-role": operation.role,
        "x-scope": operation.scope,
    }
    if operation.body is not None:
        required = any(field.is_required() for field in operation.body.model_fields.values())
        content: dict[str, Any] = {"schema": references[operation.body, "validation"]}
        if (example := find_example(operation.body)) is not None:
            content["example"] = example
        description["requestBody"] = {"required": required, "content": {"application/json": content}}
    description["responses"] = describe_responses(operation, references)
    return description


def _describe_access(operation: Operation) -> str:
    if operation.role == "anyone":
        return "For anyone, without a key."
    concerns = {"tenant": " of the key's tenant", "all": " without a tenant", "any": ""}[operation.scope]
    return f"Needs the role {operation.role}{concerns}."


def _describe_security(operation: Operation) -> list[dict[str, list[str]]]:
    """An empty requirement means that a request without a key may be allowed too: while the server has none."""
    if operation.role == "anyone":
        return []
    tokens: list[dict[str, list[str]]] = [{"stream_token": []}] if operation.by_token else []
    return [{"key": [operation.role]}, *tokens, {}]
