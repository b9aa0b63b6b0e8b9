"""The OpenAPI document by itself: valid, complete, and with examples that fit."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from taskapi.api.openapi import build_document
from taskapi.api.problems import PROBLEMS
from taskapi.app import OPERATIONS

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    return build_document(OPERATIONS)


def list_operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path}", operation


def resolve(document: Document, response: Document) -> Document:
    name = response.get("$ref", "").removeprefix("#/components/responses/")
    found: Document = document["components"]["responses"][name] if name else response
    return found


def list_bodies(document: Document) -> Iterator[tuple[str, Document]]:
    """Yields the JSON bodies of all requests and responses."""
    for label, operation in list_operations(document):
        if "requestBody" in operation:
            yield f"{label} body", operation["requestBody"]["content"]["application/json"]
        for status, response in operation["responses"].items():
            for media_type, body in resolve(document, response).get("content", {}).items():
                if "json" in media_type and "schema" in body:
                    yield f"{label} {status}", body


def test_it_is_valid(document: Document) -> None:
    """By a validator that knows nothing of us."""
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_body_has_an_example_that_fits(document: Document) -> None:
    wrong = []
    for label, body in list_bodies(document):
        examples = (
            [body["example"]] if "example" in body else [each["value"] for each in body.get("examples", {}).values()]
        )
        schema = {**body["schema"], "components": document["components"]}
        validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
        wrong += [f"{label}: {error.message}" for example in examples for error in validator.iter_errors(example)]
        wrong += [] if examples else [f"{label}: no example"]
    assert wrong == []


def test_every_operation_says_who_may_use_it(document: Document) -> None:
    operations = dict(list_operations(document))
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(set(ids)) == len(ids)
    tags = {tag["name"] for tag in document["tags"]}
    for each in OPERATIONS:
        shown = operations[f"{each.method} {re.sub(r':path}', '}', each.path)}"]
        assert (shown["x-role"], shown["x-scope"]) == (each.role, each.scope)
        assert set(shown["tags"]) <= tags
        if each.role == "anyone":
            assert (shown["security"], "401" in shown["responses"]) == ([], False)
            continue
        assert {"key": [each.role]} in shown["security"]
        assert ({"stream_token": []} in shown["security"]) is each.by_token
        assert {"401", "403", "421", "429", "500", "503"} <= set(shown["responses"])
        assert each.method == "GET" or {"408", "415"} <= set(shown["responses"])


def test_problems_name_their_tokens_and_headers(document: Document) -> None:
    for label, operation in list_operations(document):
        for status, response in operation["responses"].items():
            found = resolve(document, response)
            assert "X-Request-ID" in found["headers"]
            content = found.get("content", {}).get("application/problem+json")
            if content is None:
                continue
            for token in content["examples"]:
                assert (PROBLEMS[token][0], f"`{token}`" in found["description"]) == (int(status), True), label
            assert "Retry-After" in found["headers"] or status not in ("429", "503")
            assert "WWW-Authenticate" in found["headers"] or status != "401"


def test_ids_have_patterns(document: Document) -> None:
    for label, operation in list_operations(document):
        for parameter in operation["parameters"]:
            if parameter["in"] == "path" and parameter["name"].endswith("_id") and parameter["name"] != "prompt_id":
                assert parameter["schema"]["pattern"].endswith("_[0-9a-f]{32}$"), label
            assert parameter["schema"].keys() & {"type", "enum", "anyOf", "const"}, (label, parameter)
