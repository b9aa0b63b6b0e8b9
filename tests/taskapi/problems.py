"""The check that a response is a certain problem document."""

from typing import Any

import httpx2


def expect_problem(response: httpx2.Response, status: int, token: str, **members: Any) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    document: dict[str, Any] = response.json()
    assert (response.status_code, document["error"]) == (status, token), document
    assert document["type"] == f"/problems/{token}"
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert {name: document.get(name) for name in members} == members, document
    return document
