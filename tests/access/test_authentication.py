"""Who calls: keys, their cache, their limits, and requests without one."""

import asyncio
import hmac
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from state.access import keys as state_keys
from state.access.caller import Caller
from state.access.keys import ValidKeys, create_key, list_keys, parse_key_id, revoke_key
from state.errors import NotReady
from taskapi import create_app
from taskapi.access import keyring
from taskapi.access.control import AccessControl
from taskapi.access.keyring import Keyring
from taskapi.access.rates import RateLimits
from taskapi.api.problems import Problem
from tests.access.conftest import LOCAL, MakeKey
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem

TASKS = "/api/v1/tasks"


def get_access(client: TestClient) -> AccessControl:
    app = client.app
    assert isinstance(app, Starlette)
    access: AccessControl = app.state.access
    return access


def forget_keys(client: TestClient) -> None:
    """As if seconds had passed."""
    get_access(client).keyring.expire()


def test_without_any_key_this_machine_is_served_and_nobody_else(client: TestClient) -> None:
    assert client.get(TASKS).status_code == 200
    with TestClient(client.app, base_url="http://127.0.0.1:8000", client=("192.0.2.7", 5)) as stranger:
        document = stranger.get(TASKS).json()
    assert document["status"] in (403, 421)
    assert "callboard keys create" in document["detail"]


def test_the_first_key_ends_access_without_one(client: TestClient, make_key: MakeKey) -> None:
    assert client.get(TASKS).status_code == 200
    headers = make_key()
    forget_keys(client)
    response = client.get(TASKS)
    expect_problem(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == 'Bearer realm="callboard"'
    assert client.get(TASKS, headers=headers).status_code == 200
    assert client.get("/livez").status_code == 200


def test_a_revoked_first_key_does_not_open_the_server_again(client: TestClient) -> None:
    created, key = create_key("k", "operator")
    revoke_key(created.id, last=True)
    expect_problem(client.get(TASKS), 401, "unauthorized")
    response = client.get(TASKS, headers={"Authorization": f"Bearer {key}"})
    expect_problem(response, 401, "unauthorized")
    assert 'error="invalid_token"' in response.headers["www-authenticate"]


def test_whatever_is_not_a_valid_key_is_refused(client: TestClient, make_key: MakeKey) -> None:
    good = make_key()["Authorization"].removeprefix("Bearer ")
    other = make_key()["Authorization"].removeprefix("Bearer ")
    head, _, secret = good.rpartition("_")
    wrong = [
        f"Bearer {head}_{other.rpartition('_')[2]}",  # another key's secret
        f"Bearer cbk_{'0' * 32}_{secret}",  # an unknown id
        f"Bearer {good[:-1]}", f"Bearer {good}x", f"Bearer {good.upper()}", f"Bearer {good} {good}", f"Bearer {good},",
        "Bearer", "Bearer ", "", good, f"Basic {good}", "Basic dXNlcjpwYXNz", f"Token {good}", f"Bearer\u00a0{good}",
        f"Bearer {parse_key_id(good)}",
    ]  # fmt: skip
    for header in wrong:
        response = client.get(TASKS, headers={b"Authorization": header.encode("latin-1")})
        expect_problem(response, 401, "unauthorized")
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert secret not in response.text
    expect_problem(client.get(TASKS, headers=[("Authorization", f"Bearer {good}")] * 2), 401, "unauthorized")
    for header in (f"Bearer {good}", f"bearer {good}", f"BEARER   {good} "):
        assert client.get(TASKS, headers={"Authorization": header}).status_code == 200


def test_a_wrong_key_is_refused_also_where_none_is_needed(client: TestClient) -> None:
    expect_problem(
        client.get(TASKS, headers={"Authorization": f"Bearer cbk_{'0' * 32}_{'x' * 43}"}), 401, "unauthorized"
    )
    expect_problem(client.get(TASKS, headers={"Authorization": "Basic dXNlcjpwYXNz"}), 401, "unauthorized")


def test_unknown_ids_and_wrong_secrets_are_compared_alike(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(len(right))
        return hmac.compare_digest(left, right)

    monkeypatch.setattr("taskapi.access.credentials.compare_digest", compare)
    good = make_key()["Authorization"]
    for header in (good, good[:-1] + ("x" if good[-1] != "x" else "y"), f"Bearer cbk_{'0' * 32}_{'x' * 43}"):
        client.get(TASKS, headers={"Authorization": header})
    assert compared == [32] * 5  # a key that is not valid is compared again with the newest keys


def test_a_key_in_the_url_is_refused(client: TestClient, make_key: MakeKey) -> None:
    headers = make_key()
    key = headers["Authorization"].removeprefix("Bearer ")
    for query in (f"key={key}", f"q={key.replace('_', '%5F')}", f"token={key}"):
        for path in (TASKS, "/livez"):
            document = expect_problem(client.get(f"{path}?{query}", headers=headers), 401, "unauthorized")
            assert "URL" in document["detail"]
            assert key not in str(document)


def test_a_body_is_not_read_before_its_sender_is_known(client: TestClient, make_key: MakeKey) -> None:
    make_key()
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    async def send() -> int:
        import httpx2

        transport = httpx2.ASGITransport(app=client.app, client=("127.0.0.1", 50000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as direct:
            return (await direct.post(TASKS, content=body(), headers={"Content-Type": "application/json"})).status_code

    client.get("/livez")
    assert client.portal is not None
    assert client.portal.call(send) == 401
    assert read == []


def test_every_method_needs_the_key(client: TestClient, make_key: MakeKey) -> None:
    headers = make_key()
    assert client.head(TASKS).status_code == 401
    assert client.head(TASKS, headers=headers).status_code == 200
    for method in ("OPTIONS", "TRACE", "PATCH"):  # names the methods that there are, and does nothing
        assert client.request(method, TASKS).status_code == 405


def test_a_caller_of_the_application_itself_needs_no_key(make_key: MakeKey) -> None:
    make_key()
    with TestClient(create_app(caller=Caller("reader", name="command line")), **LOCAL) as client:  # type: ignore[arg-type]
        assert client.get(TASKS).status_code == 200
        expect_problem(client.post(TASKS, json={"actor": "anything", "payload": {}}), 403, "forbidden")


# The cache.


def test_a_new_key_works_at_once(client: TestClient, make_key: MakeKey) -> None:
    """Also if it was made elsewhere while the keys were cached."""
    assert client.get(TASKS).status_code == 200
    for _ in range(3):
        assert client.get(TASKS, headers=make_key()).status_code == 200


def test_guessing_keys_does_not_make_the_server_read_all_the_time(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = make_key()
    assert client.get(TASKS, headers=headers).status_code == 200
    reads: list[None] = []

    def read() -> ValidKeys:
        reads.append(None)
        return state_keys.read_keys()

    monkeypatch.setattr(keyring, "read_keys", read)
    monkeypatch.setattr(keyring, "_PAUSE", 0.5)
    began = time.monotonic()
    guess = {"Authorization": f"Bearer cbk_{'0' * 32}_{'x' * 43}"}
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(client.get, TASKS, headers=guess) for _ in range(40)]
        assert {answer.result().status_code for answer in answers} == {401}
    assert len(reads) <= 2 + (time.monotonic() - began) / 0.5


def test_concurrent_first_requests_share_one_read(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = make_key()
    reads: list[float] = []
    release = threading.Event()

    def read() -> ValidKeys:
        reads.append(time.monotonic())
        assert release.wait(20)
        return state_keys.read_keys()

    monkeypatch.setattr(keyring, "read_keys", read)
    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(client.get, TASKS, headers=headers) for _ in range(12)]
        eventually(lambda: reads, what="the keys are being read")
        release.set()
        assert [answer.result().status_code for answer in answers] == [200] * 12
    assert len(reads) == 1


def test_keys_are_read_again_after_seconds_and_never_by_an_idle_server(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = make_key()
    reads: list[None] = []

    def read() -> ValidKeys:
        reads.append(None)
        return state_keys.read_keys()

    now = time.monotonic()
    monkeypatch.setattr(keyring, "read_keys", read)
    monkeypatch.setattr(keyring, "monotonic", lambda: now)
    for _ in range(3):
        assert client.get(TASKS, headers=headers).status_code == 200
    assert len(reads) == 1
    now += keyring.MAX_AGE - 0.1
    client.get(TASKS, headers=headers)
    assert len(reads) == 1
    now += 100
    assert len(reads) == 1
    client.get(TASKS, headers=headers)
    assert len(reads) == 2
    assert keyring.MAX_AGE < 5


def test_a_read_that_began_too_long_ago_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that arrives during a slow read waits for the next one if the slow one is too old for it."""
    now = 1000.0
    monkeypatch.setattr(keyring, "monotonic", lambda: now)
    answers = [ValidKeys(False, {}), ValidKeys(True, {})]
    slow = threading.Event()

    def read() -> ValidKeys:
        answer = answers.pop(0)
        if not answer.configured:
            assert slow.wait(20)
        return answer

    monkeypatch.setattr(keyring, "read_keys", read)

    async def scenario() -> tuple[bool, bool]:
        nonlocal now
        ring = Keyring(lambda _: None)
        early = asyncio.create_task(ring.get_snapshot())
        await asyncio.to_thread(eventually, lambda: len(answers) == 1)
        now += 60
        late = asyncio.create_task(ring.get_snapshot())
        await asyncio.sleep(0)
        slow.set()
        return (await early).configured, (await late).configured

    assert asyncio.run(scenario()) == (False, True)


def test_if_the_keys_cannot_be_read_nobody_is_let_in(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get(TASKS).status_code == 200  # nobody has a key, and this is known

    def fail() -> ValidKeys:
        raise NotReady("The database does not answer.")

    monkeypatch.setattr(keyring, "read_keys", fail)
    forget_keys(client)
    for headers in ({}, make_key()):
        response = client.get(TASKS, headers=headers)
        expect_problem(response, 503, "not-ready")
        assert response.headers["retry-after"]
    assert client.get("/livez").status_code == 200
    monkeypatch.undo()
    expect_problem(client.get(TASKS), 401, "unauthorized")


def test_a_database_without_the_table_of_keys_says_what_to_do(client: TestClient, connection: Observer) -> None:
    connection.execute("DROP TABLE callboard.api_keys CASCADE")
    connection.execute("UPDATE callboard.schema_version SET version = 22")
    forget_keys(client)
    document = expect_problem(client.get(TASKS), 503, "not-ready")
    assert "callboard migrate" in document["detail"]


# Limits and uses.


def test_a_key_has_its_requests_a_minute(
    client: TestClient, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("taskapi.access.rates.monotonic", lambda: now)
    limited, other = make_key(rate_limit=6), make_key()
    assert [client.get(TASKS, headers=limited).status_code for _ in range(6)] == [200] * 6
    for _ in range(20):  # refused requests do not count
        response = client.get(TASKS, headers=limited)
        expect_problem(response, 429, "too-many-requests")
        assert response.headers["retry-after"] == "10"
    assert client.get(TASKS, headers=other).status_code == 200
    now += 10
    statuses = [client.get(TASKS, headers=limited).status_code for _ in range(2)]
    assert statuses == [200, 429]
    now += 3600
    assert [client.get(TASKS, headers=limited).status_code for _ in range(7)] == [200] * 6 + [429]


def test_a_bucket_holds_exactly_one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskapi.access.rates.monotonic", lambda: 12345.678)
    for limit in (1, 7, 60, 999):  # thirds and sevenths of a minute add up as well
        key = state_keys.ValidKey(Caller("reader"), b"", limit)
        rates = RateLimits()
        for _ in range(limit):
            rates.take("ck", key)
        with pytest.raises(Problem, match="requests a minute"):
            rates.take("ck", key)


def test_uses_are_written_at_shutdown_and_not_by_requests(make_key: MakeKey, connection: Observer) -> None:
    headers = make_key()
    with TestClient(create_app(), **LOCAL) as client:  # type: ignore[arg-type]
        for _ in range(3):
            assert client.get(TASKS, headers=headers).status_code == 200
        assert client.post(TASKS, headers=headers, json={}).status_code == 403
        assert [key.last_used_at for key in list_keys()] == [None]
    assert [key.last_used_at is not None for key in list_keys()] == [True]


def test_uses_that_could_not_be_written_are_kept(
    make_key: MakeKey, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taskapi.access import uses

    written: list[dict[str, float]] = []
    failures = [psycopg.OperationalError("gone")]

    def record(seconds_ago: dict[str, float]) -> None:
        if failures:
            raise failures.pop()
        written.append(seconds_ago)

    monkeypatch.setattr(uses, "record_key_uses", record)

    async def scenario() -> None:
        notes = uses.KeyUses(interval=0.01)
        notes.note("ck_1")
        await asyncio.to_thread(eventually, lambda: written)
        notes.note("ck_2")
        await notes.stop()

    asyncio.run(scenario())
    assert [list(batch) for batch in written] == [["ck_1"], ["ck_2"]]
