"""The cache of keys, their limits and their last uses."""

import asyncio
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from starlette.testclient import TestClient

from state.access import keys as state_keys
from state.access.caller import Caller
from state.access.keys import ValidKeys, list_keys
from state.errors import NotReady
from taskapi import create_app
from taskapi.access import keyring, open_streams
from taskapi.access.keyring import Keyring, Snapshot
from taskapi.access.open_streams import OpenStreams
from taskapi.access.rates import RateLimits
from taskapi.api.problems import Problem
from tests.access.conftest import LOCAL, MakeKey, forget_keys
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.problems import expect_problem

TASKS = "/api/v1/tasks"


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


def test_a_request_in_the_very_moment_in_which_a_read_ends_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for what is over, again and again, and nothing else would happen in the process."""
    monkeypatch.setattr(keyring, "read_keys", lambda: ValidKeys(True, {}))

    def give_up(*_: object) -> None:
        raise TimeoutError("the request waits without end")

    async def scenario() -> tuple[Snapshot, Snapshot]:
        rings: list[Keyring] = []
        arrived: list[asyncio.Task[Snapshot]] = []

        def arrive(_: Snapshot) -> None:
            """The next turn of the event loop has this request, and after it what follows from the end of the read."""
            if not arrived:
                rings[0].expire()
                arrived.append(asyncio.create_task(rings[0].get_snapshot()))

        rings.append(Keyring(arrive))
        return await rings[0].get_snapshot(), await arrived[0]

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    try:
        first, second = asyncio.run(scenario())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert first.read_at < second.read_at


def test_a_failure_that_nobody_expects_does_not_end_the_checks_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [RuntimeError("unexpected")]

    def read() -> ValidKeys:
        if failures:
            raise failures.pop()
        return ValidKeys(True, {})

    monkeypatch.setattr(keyring, "read_keys", read)
    monkeypatch.setattr(open_streams, "_AFTER_ERROR", 0.0)

    async def scenario() -> None:
        streams = OpenStreams()
        checks = asyncio.create_task(streams.keep_checked(Keyring(streams.end_refused)))
        with streams.follow(Caller("reader", key_id="ck_revoked")):
            await asyncio.sleep(20)
            pytest.fail("the stream goes on")
        checks.cancel()

    asyncio.run(scenario())


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
