"""Bad input gets a problem document that names the mistake, and leaves no row."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state import jsonsafe
from state.settings import get_settings
from taskapi.api.bodies import SMALL, parse
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

Rows = Callable[[], dict[str, int]]

HEAD = "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
AS_JSON = {"Content-Type": "application/json"}
NOTHING = {"tasks": 0, "events": 0, "idempotency": 0}


def body(**members: Any) -> bytes:
    return json.dumps({"actor": "anything", "payload": {}} | members).encode()


def deep(levels: int) -> bytes:
    return b'{"actor": "anything", "payload": {"x": ' + b"[" * levels + b"]" * levels + b"}}"


BAD_FIELDS: dict[str, tuple[bytes, str]] = {
    "priority by an unknown name": (body(priority="urgent"), "priority"),
    "priority as digits": (body(priority="1"), "priority"),
    "priority as a fraction": (body(priority=1.5), "priority"),
    "priority as a boolean": (body(priority=True), "priority"),
    "priority out of range": (body(priority=4), "priority"),
    "payload as a list": (body(payload=[]), "payload"),
    "payload as null": (body(payload=None), "payload"),
    "no payload": (b'{"actor": "anything"}', "payload"),
    "no actor": (b'{"payload": {}}', "actor"),
    "actor as a number": (body(actor=5), "actor"),
    "actor too long": (body(actor="a" * 201), "actor"),
    "actor and task_type": (body(task_type="anything"), "task_type"),
    "unknown field": (body(prio=1), "prio"),
    "not supported yet": (body(webhook_url="http://localhost/"), "webhook_url"),
    "max_attempts 0": (body(max_attempts=0), "max_attempts"),
    "max_attempts too many": (body(max_attempts=1001), "max_attempts"),
    "delay below zero": (body(delay_seconds=-1), "delay_seconds"),
    "delay beyond reason": (body(delay_seconds=1e300), "delay_seconds"),
    "delay beyond floats": (body(delay_seconds=10**400), "delay_seconds"),
    "age below zero": (body(max_age_seconds=-1), "max_age_seconds"),
    "date as a number": (body(available_at=5), "available_at"),
    "date as a number in text": (body(available_at="1700000000"), "available_at"),
    "date without a zone": (body(available_at="2030-01-01T00:00:00"), "available_at"),
    "date before all dates": (body(available_at="0001-01-01T00:00:00+14:00"), "available_at"),
    "date after all dates": (body(available_at="9999-12-31T23:59:59-14:00"), "available_at"),
    "date and delay": (body(available_at="2030-01-01T00:00:00Z", delay_seconds=1), "available_at"),
    "target too long": (body(target="t" * 201), "target"),
    "dedup key not printable": (body(dedup_key="a\nb"), "dedup_key"),
    "dedup ttl as null": (body(dedup_ttl_seconds=None), "dedup_ttl_seconds"),
    "queue empty": (body(queue=""), "queue"),
    "unknown queue": (body(queue="nowhere"), "queue"),
    "queue not printable": (body(queue="a\nb"), "queue"),
    "tenant too long": (body(tenant="t" * 201), "tenant"),
    "payload fails its model": (body(actor="strict"), "payload.text"),
    "payload fails deep inside": (
        body(actor="strict", payload={"text": "x", "limits": {"steps": 11}}), "payload.limits.steps",
    ),
    "payload with a field too many": (body(actor="strict", payload={"text": "x", "y": 1}), "payload.y"),
    "NUL": (rb'{"actor": "anything", "payload": {"x": "a\u0000b"}}', "payload.x"),
    "NUL in a name": (rb'{"actor": "anything", "payload": {"a\u0000b": 1}}', "payload"),
    "half a surrogate pair": (rb'{"actor": "anything", "payload": {"x": "\ud800"}}', "payload.x"),
    "half a surrogate pair in a list": (rb'{"actor": "anything", "payload": {"x": [1, "\udfff"]}}', "payload.x[1]"),
    "beyond all floats": (b'{"actor": "anything", "payload": {"x": 1e999}}', "payload.x"),
    "beyond all floats, negative": (b'{"actor": "anything", "payload": {"x": -1e999}}', "payload.x"),
}  # fmt: skip


def test_a_bad_field_is_named(client: httpx2.Client, rows: Rows, subtests: pytest.Subtests) -> None:
    for case, (raw, name) in BAD_FIELDS.items():
        with subtests.test(case):
            expect_problem(client.post("/api/v1/tasks", content=raw), 422, "invalid-input", field=name)
            assert rows() == NOTHING


BAD_BODIES: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 400, "empty-body"),
    "blank": (b" \n ", 400, "empty-body"),
    "not JSON": (b"actor=anything", 400, "invalid-json"),
    "cut off": (b'{"actor": "anything", "payl', 400, "invalid-json"),
    "two documents": (body() + body(), 400, "invalid-json"),
    "NaN": (b'{"actor": "anything", "payload": {"x": NaN}}', 400, "invalid-json"),
    "Infinity": (b'{"actor": "anything", "payload": {"x": -Infinity}}', 400, "invalid-json"),
    "a number of 5,000 digits": (
        b'{"actor": "anything", "payload": {"x": 1' + b"0" * 5000 + b"}}",
        400,
        "invalid-json",
    ),
    "not UTF-8": (b'{"actor": "anything", "payload": {"x": "\xff"}}', 400, "invalid-encoding"),
    "a surrogate in UTF-8": (b'{"actor": "anything", "payload": {"x": "\xed\xa0\x80"}}', 400, "invalid-encoding"),
    "UTF-16": (body().decode().encode("utf-16-le"), 400, "invalid-encoding"),
    "a list": (b"[]", 422, "invalid-input"),
    "a text": (b'"anything"', 422, "invalid-input"),
    "null": (b"null", 422, "invalid-input"),
    "nested too deep": (deep(100), 422, "invalid-input"),
    "nested far too deep": (deep(100_000), 400, "invalid-json"),
}


@pytest.mark.parametrize("path", ["/api/v1/tasks", "/api/v1/tasks/summarize"])
def test_a_bad_body_is_refused(client: httpx2.Client, rows: Rows, subtests: pytest.Subtests, path: str) -> None:
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    for case, (raw, status, token) in BAD_BODIES.items():
        with subtests.test(case):
            expect_problem(client.post(path, content=raw, headers=headers), status, token)
            assert rows() == NOTHING


def test_a_text_that_is_too_long_for_an_index_is_refused(client: httpx2.Client, rows: Rows) -> None:
    run = token_hex(8000)
    expect_problem(client.post("/api/v1/tasks", content=body(payload={"workflow_run_id": run})), 422, "invalid-input")
    assert rows() == NOTHING


def test_an_unknown_actor_is_not_found_and_the_known_ones_are_listed(client: httpx2.Client, rows: Rows) -> None:
    document = expect_problem(
        client.post("/api/v1/tasks", content=body(actor="nobody")), 404, "unknown-actor", field="actor"
    )
    assert {"anything", "media_generation", "summarize"} <= set(document["known"])
    assert rows() == NOTHING


BAD_TEXTS: list[tuple[dict[str, Any], str]] = [
        ({"content": ""}, "content"), ({"content": 5}, "content"), ({}, "content"), ({"text": "x"}, "content"),
        ({"content": "x", "max_sentences": 0}, "max_sentences"), ({"content": "x", "actor": "agent"}, "actor"),
        ({"content": "x", "max_sentences": "2"}, "max_sentences"), ({"content": "x", "priority": 9}, "priority"),
]  # fmt: skip


def test_a_bad_summarization_names_the_field_that_was_sent(client: httpx2.Client, rows: Rows) -> None:
    for members, name in BAD_TEXTS:
        answer = client.post("/api/v1/tasks/summarize", json=members)
        document = expect_problem(answer, 422, "invalid-input", field=name)
        assert "payload" not in document["detail"]
    assert rows() == NOTHING


def test_the_largest_body_is_accepted_and_a_larger_one_is_refused(client: httpx2.Client, rows: Rows) -> None:
    limit = get_settings().max_body_bytes
    exact = body(payload={"x": "a" * (limit - len(body(payload={"x": ""})))})
    assert len(exact) == limit
    assert client.post("/api/v1/tasks", content=exact).status_code == 202
    expect_problem(client.post("/api/v1/tasks", content=exact + b" "), 413, "body-too-large", limit=limit)

    def chunks() -> Iterator[bytes]:
        yield exact
        yield b" "

    expect_problem(client.post("/api/v1/tasks", content=chunks()), 413, "body-too-large")
    assert rows()["tasks"] == 1
    assert client.get("/livez").status_code == 200


def test_a_body_without_a_payload_has_a_small_limit(client: httpx2.Client, rows: Rows) -> None:
    path = f"/api/v1/tasks/tq_{token_hex(16)}/cancel"
    large = b'{"force": false' + b" " * SMALL + b"}"
    expect_problem(client.post(path, content=large, headers=AS_JSON), 413, "body-too-large", limit=SMALL)
    expect_problem(client.post(path, content=large[-SMALL:], headers=AS_JSON), 400, "invalid-json")


def test_objects_and_lists_are_counted_before_they_are_built(client: httpx2.Client, rows: Rows) -> None:
    many = b'{"actor": "anything", "payload": {"x": [' + b",".join([b"[]"] * jsonsafe.MAX_CONTAINERS) + b"]}}"
    refused = client.post("/api/v1/tasks", content=many, headers=AS_JSON)
    expect_problem(refused, 400, "invalid-json", detail="more than 100000 objects and lists")
    assert rows() == NOTHING
    text = json.dumps('"' + "[{" * jsonsafe.MAX_CONTAINERS)
    accepted = client.post("/api/v1/tasks", content=body(payload={"x": json.loads(text)}), headers=AS_JSON)
    assert accepted.status_code == 202, accepted.text


def test_a_large_body_is_parsed_in_a_thread() -> None:
    async def find_threads() -> list[threading.Thread]:
        return [await parse(bytes(size), lambda raw: threading.current_thread()) for size in (SMALL, SMALL + 1)]

    small, large = asyncio.run(find_threads())
    assert small is threading.current_thread()
    assert large is not threading.current_thread()


def test_an_endless_body_is_answered_without_reading_it(server: RunningServer, rows: Rows) -> None:
    limit = get_settings().max_body_bytes
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(f"{HEAD}Content-Length: {limit + 1}\r\n\r\n{{".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(limit // 65536 + 1):
            connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert rows() == NOTHING


def test_a_client_that_disconnects_in_the_middle_of_its_body_leaves_no_row(server: RunningServer, rows: Rows) -> None:
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(f"{HEAD}Content-Length: 100\r\n\r\n".encode() + body())
    assert server.client.get("/livez").status_code == 200
    assert rows() == NOTHING


def test_an_unknown_path_is_a_problem_document(client: httpx2.Client) -> None:
    for path in ("/api/v1/nothing", "/api/v2/tasks", "/problems/unknown-actor", "/%00", "/api/v1/tasks/a/b"):
        expect_problem(client.get(path), 404, "not-found")


METHODS = [
        ("DELETE", "/api/v1/tasks", {"GET", "HEAD", "POST"}), ("PUT", "/health", {"GET", "HEAD"}),
        ("GET", "/api/task", {"POST"}), ("POST", "/", {"GET", "HEAD"}), ("POST", "/openapi.json", {"GET", "HEAD"}),
]  # fmt: skip


def test_the_answer_to_a_wrong_method_names_the_right_ones(client: httpx2.Client) -> None:
    for method, path, allowed in METHODS:
        answer = client.request(method, path)
        expect_problem(answer, 405, "method-not-allowed")
        assert set(answer.headers["allow"].split(", ")) == allowed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["actor", "task_type", "payload", "queue", "priority", "max_attempts", "delay_seconds", "available_at",
     "max_age_seconds", "tenant", "target", "dedup_key", "dedup_ttl_seconds", "content", "max_sentences", "webhook_url"]
)  # fmt: skip
ACTORS = st.sampled_from(["anything", "strict", "summarize", "media_generation", "agent", "nobody"])
BODIES = st.builds(
    lambda known, more: known | more,
    st.fixed_dictionaries(
        {}, optional={"actor": ACTORS, "payload": st.dictionaries(st.text(), JSON), "content": st.text()}
    ),
    st.dictionaries(NAMES | st.text(), JSON, max_size=3),
)
PAYLOADS = st.dictionaries(
    st.sampled_from(["provider", "action_type", "prompt", "params", "source_data", "workflow_run_id", "agent_name",
                     "task_type", "input", "text", "limits", "content"]),
    JSON | st.sampled_from(["local", "txt2img", "upscale", "text", "statistics"]),
)  # fmt: skip


def test_no_body_makes_the_server_fail(client: httpx2.Client, rows: Rows) -> None:
    accepted = 0

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(["/api/v1/tasks", "/api/v1/tasks/summarize"]),
        st.binary(max_size=60)
        | BODIES.map(lambda value: json.dumps(value).encode())
        | JSON.map(lambda value: json.dumps(value).encode())
        | st.tuples(ACTORS, PAYLOADS).map(lambda pair: json.dumps({"actor": pair[0], "payload": pair[1]}).encode()),
    )
    def post(path: str, raw: bytes) -> None:
        nonlocal accepted
        answer = client.post(path, content=raw)
        assert answer.status_code in (200, 202, 400, 404, 422), (raw, answer.text)
        accepted += answer.status_code == 202
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"

    post()
    assert rows()["tasks"] == accepted


@pytest.mark.parametrize("address", ["/api/v1/tasks?{}", "/api/v1/tasks/{}", "/api/v1/contents/{}"])
def test_no_address_makes_the_server_fail(client: httpx2.Client, address: str) -> None:
    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(st.characters(exclude_categories=["Cs"])) | st.binary())
    def get(text: str | bytes) -> None:
        answer = client.get(address.format(quote(text, safe="=&+" if "?" in address else "")))
        assert answer.status_code in (200, 404, 422), (text, answer.text)

    get()
