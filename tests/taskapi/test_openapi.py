"""The OpenAPI document and the home page."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2

from state.tasks.events import EVENT_KINDS, STREAM_KINDS


def test_openapi_describes_the_api(client: httpx2.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    paths = document["paths"]
    assert set(paths["/api/v1/tasks"]) == {"get", "post"}
    assert {"/api/task", "/api/task/{task_id}", "/api/task/{task_id}/stream", "/health"} <= set(paths)
    assert set(paths["/api/v1/tasks"]["post"]["responses"]) >= {"202", "400", "404", "409", "413", "422", "503"}
    filters = {each["name"] for each in paths["/api/v1/tasks"]["get"]["parameters"]}
    assert filters == {
        "status", "actor", "agent_name", "task_type", "queue", "lane", "workflow_id", "workflow_run_id", "tenant",
        "target", "error_type", "fingerprint", "text", "limit", "cursor",
    }  # fmt: skip
    schemas = document["components"]["schemas"]
    assert "last_event" not in schemas["TaskView"]["properties"]
    for reference in find_references(document):
        _, _, kind, name = reference.split("/")
        assert name in document["components"][kind], reference
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}).json()
    assert set(task) == set(schemas["AcceptedTask"]["properties"])
    assert set(schemas["AcceptedTask"]["required"]) <= set(task)


def find_references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == "$ref")
        node = [value for name, value in node.items() if name != "example"]  # an actor's own schema has its own
    if isinstance(node, list):
        for child in node:
            yield from find_references(child)


def test_the_home_page(client: httpx2.Client) -> None:
    """The console. All that it names is there, below the page: it can be served below any path."""
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert client.head("/").status_code == 200
    files = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert [file for file in files if not re.match(r"console/[0-9a-f]{8}/[\w/-]+\.(js|css|svg)$|docs$", file)] == []
    assert {file.partition("/")[0] for file in files} == {"console", "docs"}
    assert [file for file in files if client.get(f"/{file}").status_code != 200] == []


def test_the_page_to_read_the_api(client: httpx2.Client) -> None:
    """Everything in it comes from this server, and no script is inline: its policy allows neither."""
    page = client.get("/docs")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert re.findall(r"<script(?! src=)", page.text) == []
    files = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert files == ["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/start.js"]
    for path, media_type in zip(files, ("text/css", "text/javascript", "text/javascript"), strict=True):
        file = client.get(path)
        assert (file.status_code, file.headers["content-type"]) == (200, f"{media_type}; charset=utf-8")
        assert (file.headers["x-content-type-options"], file.headers["cache-control"]) == ("nosniff", "max-age=3600")
    assert "/openapi.json" in client.get("/docs/start.js").text
    assert client.get("/docs/other.js").status_code == 404


def test_openapi_lists_the_kinds_of_events(client: httpx2.Client) -> None:
    document = client.get("/openapi.json").json()
    stored = document["components"]["schemas"]["EventView"]["properties"]["kind"]["description"]
    streamed = document["paths"]["/api/v1/tasks/{task_id}/stream"]["get"]["description"]
    assert [kind for kind in EVENT_KINDS if kind not in STREAM_KINDS and kind not in stored] == []
    assert [kind for kind, text in EVENT_KINDS.items() if f"`{kind}`: {text}" not in streamed] == []
