"""`Idempotency-Key`: a repeated request creates no second task."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2

from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem

Rows = Callable[[], dict[str, int]]

BODY = b'{"actor": "anything", "payload": {"zebra": 1, "ant": 1.0, "big": 1e5}}'
HELD = """SELECT 1 AS held FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND granted AND datname = current_database()"""
TEXT = b'{"content": "One. Two."}'


def post(client: httpx2.Client, key: str = "k", body: bytes = BODY, path: str = "/api/v1/tasks") -> httpx2.Response:
    return client.post(path, content=body, headers={"Idempotency-Key": key})


def test_a_repeated_request_gets_the_same_bytes(client: httpx2.Client, rows: Rows) -> None:
    first = post(client)
    assert (first.status_code, first.headers.get("idempotent-replayed")) == (202, None)
    again = post(client, path="/api/task")
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert rows() == {"tasks": 1, "events": 1, "idempotency": 1}


def test_another_body_is_refused(client: httpx2.Client, rows: Rows) -> None:
    post(client)
    expect_problem(post(client, body=BODY.replace(b"1.0", b"2.0")), 422, "idempotency-conflict")
    assert rows()["tasks"] == 1


def test_each_route_and_tenant_has_keys_of_its_own(client: httpx2.Client, rows: Rows) -> None:
    other = b'{"actor": "anything", "payload": {}, "tenant": "acme"}'
    answers = [post(client), post(client, body=TEXT, path="/api/v1/tasks/summarize"), post(client, body=other)]
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    again = post(client, body=TEXT, path="/api/v1/tasks/summarize")
    assert again.json() == answers[1].json()
    assert rows()["tasks"] == 3


def test_after_a_day_the_key_is_free_again(client: httpx2.Client, clock: Clock) -> None:
    first = post(client)
    clock.advance(24 * 3600 + 1)
    second = post(client, body=BODY.replace(b"1.0", b"2.0"))
    assert second.status_code == 202
    assert second.json()["task_id"] != first.json()["task_id"]


def test_a_refused_request_does_not_use_up_its_key(client: httpx2.Client, rows: Rows) -> None:
    expect_problem(post(client, body=b'{"actor": "nobody", "payload": {}}'), 404, "unknown-actor")
    expect_problem(post(client, body=b'{"actor": "strict", "payload": {}}'), 422, "invalid-input")
    assert rows() == {"tasks": 0, "events": 0, "idempotency": 0}
    assert post(client).status_code == 202


def test_a_key_must_be_short_and_printable(client: httpx2.Client, rows: Rows) -> None:
    for key in ("", "k" * 256, "a\tb", "sch\u00f6n"):
        headers = [(b"idempotency-key", key.encode("latin-1"))]
        answer = client.post("/api/v1/tasks", content=BODY, headers=headers)
        expect_problem(answer, 422, "invalid-parameter", field="Idempotency-Key")
    assert rows()["tasks"] == 0
    assert post(client, key="k" * 255).status_code == 202


def test_while_the_first_request_is_under_way_the_second_gets_409(
    client: httpx2.Client, connection: Observer, rows: Rows
) -> None:
    """The first request waits for a lock that the test holds."""
    with ThreadPoolExecutor(1) as pool:
        with connection.transaction():
            connection.execute("LOCK TABLE callboard.tasks IN EXCLUSIVE MODE")
            first = pool.submit(post, client)
            eventually(lambda: connection.execute(HELD).fetchone(), 5, what="the first holds its key")
            answer = post(client)
            expect_problem(answer, 409, "idempotency-pending")
            assert answer.headers["retry-after"] == "1"
        task_id = first.result(20).json()["task_id"]
    assert post(client).json()["task_id"] == task_id
    assert rows()["tasks"] == 1


def test_twenty_requests_at_once_create_one_task(client: httpx2.Client, rows: Rows) -> None:
    together = threading.Barrier(20)

    def one(_: int) -> httpx2.Response:
        together.wait(20)
        for _ in range(200):
            answer = post(client)
            if answer.status_code != 409:
                return answer
            expect_problem(answer, 409, "idempotency-pending")
        raise AssertionError("the first never ended")

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert rows() == {"tasks": 1, "events": 1, "idempotency": 1}
