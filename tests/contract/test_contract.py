"""The OpenAPI document against a real server: no 500, no answer that the document does not describe. For more requests
of each kind set CALLBOARD_CONTRACT_EXAMPLES."""

from typing import Any

import pytest
from schemathesis import GenerationMode

from state.access.keys import create_key
from tests.contract.checks import EXAMPLES, Contract
from tests.contract.contents import API, Contents
from tests.taskapi.running import RunningServer

POSITIVE = (GenerationMode.POSITIVE,)
CREATES_KEYS = "POST /api/v1/keys"


@pytest.fixture(scope="module")
def document(server: RunningServer) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/openapi.json").json()
    return found


def test_streams_answer_their_content_type(server: RunningServer, contents: Contents, document: dict[str, Any]) -> None:
    """They do not end by themselves, so only their beginning is read."""
    streams = [
        path
        for path, operations in document["paths"].items()
        if "text/event-stream" in operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    ]
    assert len(streams) >= 4
    for path in streams:
        known = {name: names[0] for name, names in contents.names.items()}
        with server.client.stream("GET", path.format_map(known)) as answer:
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
            assert next(answer.iter_lines()) == "retry: 2000"


def test_without_keys(server: RunningServer, contents: Contents, document: dict[str, Any]) -> None:
    contract = Contract(server.url, contents, {})
    contract.try_all(document, without={CREATES_KEYS})  # with a first key the server answers nobody without one
    assert contract.failures == {}
    assert {200, 201, 202, 204, 404, 409, 422} <= set(contract.statuses)


def test_with_keys(server: RunningServer, contents: Contents, document: dict[str, Any]) -> None:
    """The last test of this file: with the first key, the server answers nobody without one."""
    _, operator = create_key("operator", "operator")
    _, reader = create_key("reader", "reader", tenant="acme")
    _, slow = create_key("slow", "operator", rate_limit=1)
    callers = ((operator, {200, 404}), (reader, {200, 403, 404}), ("cbk_wrong", {401}), (slow, {429}))
    for key, expected in callers:
        contract = Contract(server.url, contents, {"Authorization": f"Bearer {key}"})
        contract.try_all(document, modes=POSITIVE, examples=EXAMPLES if key == operator else 1)
        assert contract.failures == {}
        assert expected <= set(contract.statuses), contract.statuses
    nobody = Contract(server.url, contents, {})
    nobody.try_all(document, modes=POSITIVE, examples=1)
    assert nobody.failures == {}
    assert 401 in nobody.statuses
    assert server.client.get(f"{API}/tasks").status_code == 401
