"""What every answer has, whatever it is: security headers, the request's id; and gzip where it helps."""

import gzip
import json
import logging
import re
from collections.abc import Iterator

import anyio
import httpx2
import pytest
import structlog
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from state.logs import configure_logs, log
from taskapi.guard.compression import Compression
from taskapi.guard.failures import FailureAnswers
from taskapi.guard.request_ids import RequestIds
from tests.guard.small_app import LONG, SmallApp, send_to
from tests.taskapi.problems import expect_problem

TASKS = "/api/v1/tasks"


@pytest.fixture
def client() -> TestClient:
    return SmallApp().connect()


def list_answers(client: TestClient) -> Iterator[httpx2.Response]:
    yield client.get("/")
    yield client.get(TASKS)
    yield client.head(TASKS)
    yield client.post(TASKS, json={})
    yield client.get("/frames")
    yield client.get("/content")
    yield client.get("/nothing")
    yield client.delete("/long")
    yield client.options("/nothing")
    yield client.post(TASKS, content=b"{}", headers={"Content-Type": "text/plain"})
    yield client.get("/", headers={"Host": "example.com"})
    yield client.get("/", headers={"Sec-Fetch-Site": "cross-site"})
    yield client.get("/broken")


def test_every_answer_has_the_headers(client: TestClient) -> None:
    statuses = []
    for response in list_answers(client):
        statuses.append(response.status_code)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert response.headers["cross-origin-opener-policy"] == "same-origin"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert re.fullmatch("rq_[0-9a-f]{32}", response.headers["x-request-id"])
        names = [name for name, _ in response.headers.multi_items() if name != "content-security-policy"]
        assert len(names) == len(set(names)), names
    assert set(statuses) == {200, 403, 404, 405, 415, 421, 500}


def test_an_answer_keeps_its_own_policy(client: TestClient) -> None:
    policies = client.get("/").headers.get_list("content-security-policy")
    assert policies == ["default-src 'none'; sandbox", "frame-ancestors 'none'"]


def test_an_answer_that_has_begun_is_broken_off() -> None:
    """A second answer in the middle of the first would be taken for a part of it."""
    sent: list[Message] = []

    async def fail(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("in the middle")

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        await FailureAnswers(fail)({"type": "http", "method": "GET", "path": "/"}, receive, send)

    with pytest.raises(RuntimeError, match="in the middle"):
        anyio.run(run)
    assert [message["status"] for message in sent] == [200]


# Request ids.


@pytest.mark.parametrize("sent", ["7", "b2c9d0c6-5b7e-4a53-9f2e-5a3e1b8e7f10", "job:42=a@b_c.d", "x" * 128])
def test_a_sane_id_is_taken(client: TestClient, sent: str) -> None:
    assert client.get(TASKS, headers={"X-Request-ID": sent}).headers["x-request-id"] == sent
    assert (
        expect_problem(client.get("/nothing", headers={"X-Request-ID": sent}), 404, "not-found")["request_id"] == sent
    )


@pytest.mark.parametrize("sent", ["", "x" * 129, "a b", 'a"b', "a{b}", "<script>", "a/../b", "é", "a,b", "${jndi:x}"])
def test_another_id_is_replaced(client: TestClient, sent: str) -> None:
    response = client.get(TASKS, headers={b"X-Request-ID": sent.encode("latin-1")})
    assert re.fullmatch("rq_[0-9a-f]{32}", response.headers["x-request-id"])


def test_two_ids_are_replaced(client: TestClient) -> None:
    response = client.get(TASKS, headers=[("X-Request-ID", "a"), ("X-Request-ID", "b")])
    assert re.fullmatch("rq_[0-9a-f]{32}", response.headers["x-request-id"])


def test_problems_name_the_request(client: TestClient) -> None:
    for response in list_answers(client):
        if response.headers.get("content-type") == "application/problem+json":
            assert response.json()["request_id"] == response.headers["x-request-id"]


def test_log_lines_name_the_request(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    response = client.get("/broken", headers={"X-Request-ID": "order-7"})
    document = expect_problem(response, 500, "internal-error")
    assert "swordfish" not in str(document)
    failed, answered = (json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{"))
    assert (failed["event"], failed["request_id"], failed["path"]) == ("request failed", "order-7", "/broken")
    assert "swordfish" in failed["exception"]
    assert (answered["event"], answered["request_id"], answered["status"]) == ("request", "order-7", 500)


def test_the_log_of_a_request_shows_no_secret(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    token = f"cbt_{'0' * 32}_1_{'a' * 64}"
    client.get(f"/{token}?token={token}&x=1")
    [line] = [json.loads(line) for line in capfd.readouterr().err.splitlines() if '"event": "request"' in line]
    assert (line["method"], line["status"]) == ("GET", 404)
    assert "aaaa" not in str(line)


def test_lines_of_other_programs_name_the_request_too() -> None:
    """uvicorn and psycopg use Python's own logging."""
    logger = logging.getLogger("uvicorn.access")
    handler = logging.StreamHandler()
    logger.addHandler(handler)
    try:
        configure_logs()
        record = logger.makeRecord(logger.name, logging.INFO, "", 0, "GET /\nmore", (), None)
        assert handler.format(record) == "GET /\nmore"
        with structlog.contextvars.bound_contextvars(request_id="order-7"):
            assert handler.format(record) == "GET / request_id=order-7\nmore"
    finally:
        logger.removeHandler(handler)


def test_nothing_is_left_of_the_request_before() -> None:
    """asyncio may start a request in the context of the one before it on the same connection."""
    seen = []

    async def note(_scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(structlog.contextvars.get_contextvars())
        structlog.contextvars.bind_contextvars(task_id="tq_1")

    async def serve_twice() -> None:
        for number in (b"1", b"2"):
            await send_to(RequestIds(note), {"headers": [(b"x-request-id", number)]})

    anyio.run(serve_twice)
    assert seen == [{"request_id": "1"}, {"request_id": "2"}]


def test_a_log_line_outside_of_a_request_has_no_id(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    client.get(TASKS)
    log.warning("afterwards")
    [line] = [json.loads(line) for line in capfd.readouterr().err.splitlines() if "afterwards" in line]
    assert "request_id" not in line


# gzip.

PACKED = {"Accept-Encoding": "gzip"}


def test_a_long_text_is_compressed(client: TestClient) -> None:
    plain = client.get("/long", headers={"Accept-Encoding": "identity"})
    packed = client.get("/long", headers=PACKED)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 10
    assert packed.json() == plain.json() == LONG
    for response in (plain, packed):
        assert response.headers["vary"] == "Accept-Encoding"
    problem = client.get("/long?status=422", headers=PACKED)
    assert (problem.status_code, problem.headers["content-encoding"], problem.json()) == (422, "gzip", LONG)


@pytest.mark.parametrize("path", [TASKS, "/frames", "/content", "/nothing", "/long?status=206"])
def test_other_answers_are_not(client: TestClient, path: str) -> None:
    response = client.get(path, headers=PACKED)
    assert "content-encoding" not in response.headers
    assert "content-length" in response.headers or path == "/frames"


@pytest.mark.parametrize(("accepted", "packs"), [
    ("gzip", True), ("br, GZIP;q=0.5", True), ("*", True), ("gzip;q=1.0", True), ("gzip; q=0.001", True),
    ("", False), ("br", False), ("gzip;q=0", False), ("gzip;q=0.000", False), ("*;q=0", False), ("xgzip", False),
])  # fmt: skip
def test_only_clients_that_accept_it_get_gzip(client: TestClient, accepted: str, packs: bool) -> None:
    response = client.get("/long", headers={"Accept-Encoding": accepted})
    assert ("content-encoding" in response.headers) == packs


def send_through(*messages: Message) -> list[Message]:
    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return anyio.run(send_to, Compression(answer), {"headers": [(b"accept-encoding", b"gzip")]})


def test_the_parts_of_a_stream_are_sent_as_they_come() -> None:
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
    parts: list[Message] = [
        {"type": "http.response.body", "body": b"x" * 5000, "more_body": more} for more in (True, True, False)
    ]
    head, *sent = send_through(start, *parts)
    assert [part["body"] for part in sent] == [b"x" * 5000] * 3
    assert b"content-encoding" not in dict(head["headers"])


def test_a_large_body_is_compressed_like_a_small_one() -> None:
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html; charset=utf-8")]}
    body = json.dumps(list(range(50_000))).encode()
    head, packed = send_through(start, {"type": "http.response.body", "body": body})
    assert gzip.decompress(packed["body"]) == body
    assert (b"content-encoding", b"gzip") in head["headers"]
