"""GET /openapi.json, made from the list of operations and the models that do the work."""

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from taskapi.operation import Operation
from taskapi.problems import KINDS, MEDIA_TYPE
from taskapi.routes import OPERATIONS
from taskapi.views import ProblemView

_REFERENCE = "#/components/schemas/{model}"
_ALWAYS = ("foreign-origin", "misdirected-request", "internal-error", "not-ready")

Schemas = Mapping[tuple[Any, JsonSchemaMode], dict[str, Any]]


def document() -> dict[str, Any]:
    references, definitions = models_json_schema(_models(), ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        for path in (operation.path, *operation.also):
            described = _describe(operation, references)
            paths.setdefault(_plain(path), {})[operation.method.lower()] = (
                described if path == operation.path else {**described, "deprecated": True}
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


def _plain(path: str) -> str:
    """Without what only the router understands: {key:path} is {key}."""
    return re.sub(r":\w+}", "}", path)


def _models() -> list[tuple[type[BaseModel], JsonSchemaMode]]:
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(ProblemView, "serialization"): None}
    for operation in OPERATIONS:
        if operation.body is not None:
            wanted[operation.body, "validation"] = None
        for answer in operation.answers.values():
            if isinstance(answer, type):
                wanted[answer, "serialization"] = None
    return list(wanted)


def _describe(operation: Operation, references: Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {"summary": operation.summary, "parameters": _parameters(operation)}
    if operation.body is not None:
        reference = references[operation.body, "validation"]
        required = any(field.is_required() for field in operation.body.model_fields.values())
        described["requestBody"] = {"required": required, "content": {"application/json": {"schema": reference}}}
    described["responses"] = {
        **{str(status): _answer(answer, references) for status, answer in operation.answers.items()},
        **_problems(operation, references),
    }
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    text = {"type": "string"}
    in_path = re.findall(r"{(\w+)}", _plain(operation.path))
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in in_path]
    parameters += [{"name": name, "in": "header", "schema": text} for name in operation.headers]
    if operation.query is not None:
        properties = operation.query.model_json_schema()["properties"]
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
    return parameters


def _answer(answer: type[BaseModel] | str | None, references: Schemas) -> dict[str, Any]:
    if answer is None:
        return {"description": "Nothing to send"}
    if isinstance(answer, str):
        return {"description": "OK", "content": {answer: {}}}
    return {"description": "OK", "content": {"application/json": {"schema": references[answer, "serialization"]}}}


def _problems(operation: Operation, references: Schemas) -> dict[str, Any]:
    tokens: dict[int, list[str]] = {}
    for token in (*operation.problems, *_ALWAYS):
        status = KINDS[token][0]
        if status not in operation.answers:
            tokens.setdefault(status, []).append(token)
    content = {MEDIA_TYPE: {"schema": references[ProblemView, "serialization"]}}
    return {
        str(status): {"description": ", ".join(dict.fromkeys(named)), "content": content}
        for status, named in tokens.items()
    }
