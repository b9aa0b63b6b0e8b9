"""GET /openapi.json: the OpenAPI document, built from the operations and their models."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from taskapi.api.operation import Operation, ResponseBody
from taskapi.api.problems import MEDIA_TYPE, PROBLEMS, ProblemView

_REFERENCE = "#/components/schemas/{model}"
_PROBLEMS_OF_ALL = ("foreign-origin", "local-only", "misdirected-request", "internal-error", "not-ready")
_PROBLEMS_OF_KEYS = ("unauthorized", "forbidden", "too-many-requests")
_PROBLEMS_OF_CHANGES = ("unsupported-media-type", "request-timeout")

Schemas = Mapping[tuple[Any, JsonSchemaMode], dict[str, Any]]


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
            paths.setdefault(_strip_converters(path), {})[operation.method.lower()] = (
                {**description, "deprecated": True} if path in operation.older_paths else description
            )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Callboard",
            "version": version("callboard"),
            "description": "Long, expensive work that is never lost and can always be watched.",
        },
        "paths": paths,
        "components": {"schemas": definitions.get("$defs", {})},
    }


def _strip_converters(path: str) -> str:
    """Turns {key:path}, which only the router understands, into {key}."""
    return re.sub(r":\w+}", "}", path)


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
    description: dict[str, Any] = {"summary": operation.summary, "parameters": _describe_parameters(operation)}
    if operation.description:
        description["description"] = operation.description
    if operation.body is not None:
        reference = references[operation.body, "validation"]
        required = any(field.is_required() for field in operation.body.model_fields.values())
        description["requestBody"] = {"required": required, "content": {"application/json": {"schema": reference}}}
    description["responses"] = {
        **{str(status): _describe_response(body, references) for status, body in operation.responses.items()},
        **_describe_problems(operation, references),
    }
    return description


def _describe_parameters(operation: Operation) -> list[dict[str, Any]]:
    text = {"type": "string"}
    in_path = re.findall(r"{(\w+)}", _strip_converters(operation.path))
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in in_path]
    parameters += [{"name": name, "in": "header", "schema": text} for name in operation.headers]
    if operation.query is not None:
        properties = operation.query.model_json_schema()["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
    return parameters


def _describe_response(body: ResponseBody, references: Schemas) -> dict[str, Any]:
    if body is None:
        return {"description": "No body"}
    if isinstance(body, str):
        return {"description": "OK", "content": {body: {}}}
    return {"description": "OK", "content": {"application/json": {"schema": references[body, "serialization"]}}}


def _describe_problems(operation: Operation, references: Schemas) -> dict[str, Any]:
    tokens: dict[int, list[str]] = {}
    of_its_method = () if operation.method == "GET" else _PROBLEMS_OF_CHANGES
    of_its_role = () if operation.role == "anyone" else _PROBLEMS_OF_KEYS
    for token in (*operation.problems, *_PROBLEMS_OF_ALL, *of_its_method, *of_its_role):
        status = PROBLEMS[token][0]
        if status not in operation.responses:
            tokens.setdefault(status, []).append(token)
    content = {MEDIA_TYPE: {"schema": references[ProblemView, "serialization"]}}
    return {
        str(status): {"description": ", ".join(dict.fromkeys(listed)), "content": content}
        for status, listed in tokens.items()
    }
