"""Responses in the OpenAPI document: bodies, headers, and the problems of each status."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from pydantic.json_schema import JsonSchemaMode

from taskapi.api.examples import find_example
from taskapi.api.operation import Operation, ResponseBody
from taskapi.api.problems import MEDIA_TYPE, PROBLEMS, ProblemView

Schemas = Mapping[tuple[Any, JsonSchemaMode], dict[str, Any]]

_PROBLEMS_OF_ALL = (
    "foreign-origin", "local-only", "misdirected-request", "internal-error", "too-many-connections", "not-ready",
    "shutting-down",
)  # fmt: skip
_PROBLEMS_OF_KEYS = ("unauthorized", "forbidden", "too-many-requests")
_PROBLEMS_OF_CHANGES = ("unsupported-media-type", "request-timeout")


def _describe_header(description: str, **schema: Any) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", **schema}}


COMMON_HEADERS = {
    "X-Request-ID": _describe_header("The name of this request, also in the server's log."),
    "Location": _describe_header("The path of what was created."),
    "Idempotent-Replayed": _describe_header("`true` if the answer is that of an earlier request.", enum=["true"]),
    "Retry-After": _describe_header("Seconds after which another try makes sense.", pattern="^[0-9]+$"),
    "WWW-Authenticate": _describe_header("How to authenticate."),
    "ETag": _describe_header("The version of the contents, for If-None-Match and If-Range."),
    "Accept-Ranges": _describe_header("`bytes`: parts can be asked for."),
    "Content-Range": _describe_header("Which bytes of the contents these are."),
    "Cache-Control": _describe_header("How long the answer may be kept."),
}
_HEADERS_OF_PROBLEMS = {
    "unauthorized": "WWW-Authenticate",
    "idempotency-pending": "Retry-After",
    "too-many-requests": "Retry-After",
    "too-many-connections": "Retry-After",
    "not-ready": "Retry-After",
    "shutting-down": "Retry-After",
    "content-store-failed": "Retry-After",
    "range-not-satisfiable": "Content-Range",
}


def describe_responses(operation: Operation, references: Schemas) -> dict[str, Any]:
    return {
        **{str(status): _describe_success(operation, status, references) for status in operation.responses},
        **{
            str(status): {"$ref": f"#/components/responses/{_name_problems(status, tokens)}"}
            for status, tokens in _group_problems(operation).items()
        },
    }


def describe_problems(operations: Iterable[Operation], references: Schemas) -> dict[str, Any]:
    """Returns the responses that have problems; most operations share them."""
    return {
        _name_problems(status, tokens): _describe_problem(tokens, references)
        for operation in operations
        for status, tokens in _group_problems(operation).items()
    }


def _describe_success(operation: Operation, status: int, references: Schemas) -> dict[str, Any]:
    replayed = ("Idempotent-Replayed",) if "Idempotency-Key" in operation.headers else ()
    description: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "headers": _refer_to_headers(*operation.sends, *replayed),
    }
    content = _describe_content(operation.responses[status], references)
    return {**description, "content": content} if content else description


def _describe_content(body: ResponseBody, references: Schemas) -> dict[str, Any]:
    if body is None:
        return {}
    if isinstance(body, str):
        return {body: {"schema": {"type": "string"}} if body.startswith("text/") else {}}
    content: dict[str, Any] = {"schema": references[body, "serialization"]}
    if (example := find_example(body)) is not None:
        content["example"] = example
    return {"application/json": content}


def _group_problems(operation: Operation) -> dict[int, list[str]]:
    """A status of which the operation has a success already, such as 503 of /health, is described by that one."""
    tokens: dict[int, list[str]] = {}
    of_its_method = () if operation.method == "GET" else _PROBLEMS_OF_CHANGES
    of_its_role = () if operation.role == "anyone" else _PROBLEMS_OF_KEYS
    for token in dict.fromkeys((*operation.problems, *_PROBLEMS_OF_ALL, *of_its_method, *of_its_role)):
        tokens.setdefault(PROBLEMS[token][0], []).append(token)
    return {status: listed for status, listed in sorted(tokens.items()) if status not in operation.responses}


def _name_problems(status: int, tokens: list[str]) -> str:
    return ".".join([str(status), *tokens])


def _describe_problem(tokens: list[str], references: Schemas) -> dict[str, Any]:
    sent = dict.fromkeys(_HEADERS_OF_PROBLEMS[token] for token in tokens if token in _HEADERS_OF_PROBLEMS)
    return {
        "description": "; ".join(f"`{token}`: {PROBLEMS[token][1]}" for token in tokens),
        "headers": _refer_to_headers(*sent),
        "content": {
            MEDIA_TYPE: {
                "schema": references[ProblemView, "serialization"],
                "examples": {token: {"value": _make_example(token)} for token in tokens},
            }
        },
    }


def _make_example(token: str) -> dict[str, Any]:
    status, title = PROBLEMS[token]
    return {"type": f"/problems/{token}", "title": title, "status": status, "detail": f"{title}.", "error": token}


def _refer_to_headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-ID", *names)}
