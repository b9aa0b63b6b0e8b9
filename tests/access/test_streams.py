"""Streams and keys: they end with their key, their number is limited, and a token opens one of them."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime

import pytest
from starlette.testclient import TestClient

from state import submit
from state.access.caller import Caller
from state.access.keys import parse_key_id, revoke_key
from state.settings import get_settings
from taskapi import create_app
from taskapi.access import tokens
from taskapi.streams.feed import Pace
from tests.access.conftest import LOCAL, MakeKey
from tests.support.following import Frame, follow
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

QUEUES = "/api/v1/queues/stream"
TOKENS = "/api/v1/stream-tokens"


@pytest.fixture
def server(actors: None) -> Iterator[RunningServer]:
    with RunningServer(Pace(keep_alive=0.5)) as running:
        yield running


def stream_of(task_id: str) -> str:
    return f"/api/v1/tasks/{task_id}/stream"


def read_key_id(headers: dict[str, str]) -> str:
    key_id = parse_key_id(headers["Authorization"].removeprefix("Bearer "))
    assert key_id is not None
    return key_id


def read_to_end(frames: Iterator[Frame]) -> None:
    """Expects that the stream ends, completely and without another event. Between comments it may wait for 5 s, as the
    keys are read every 4 s; a busy machine needs longer."""
    deadline = time.monotonic() + 30
    for frame in frames:
        assert frame.event is None
        assert time.monotonic() < deadline, "the stream goes on"


def test_streams_end_when_their_key_is_revoked(server: RunningServer, make_key: MakeKey) -> None:
    """Those of tasks and of the queues, those opened by a token, and those of others go on."""
    path = stream_of(submit("anything", {}).task_id)
    revoked, kept = make_key("operator"), make_key("operator")
    token = server.client.post(TOKENS, json={"path": path}, headers=revoked).json()["token"]
    with ExitStack() as stack:
        ending = [
            stack.enter_context(follow(server.client, path, **revoked)),
            stack.enter_context(follow(server.client, QUEUES, **revoked)),
            stack.enter_context(follow(server.client, f"{path}?token={token}")),
        ]
        going_on = stack.enter_context(follow(server.client, path, **kept))
        for frames in (*ending, going_on):
            assert [next(frames).retry, next(frames).event] in (["2000", "snapshot"], ["2000", "status"])
        revoke_key(read_key_id(revoked))
        for frames in ending:
            read_to_end(frames)
        expect_problem(server.client.get(path, headers=revoked), 401, "unauthorized")
        expect_problem(server.client.get(f"{path}?token={token}"), 401, "unauthorized")
        submit("anything", {})
        assert server.count_subscriptions() == 1
    assert server.client.head(path, headers=kept).status_code == 200


def test_streams_without_a_key_end_with_the_first_key_of_this_server_at_once(server: RunningServer) -> None:
    path = stream_of(submit("anything", {}).task_id)
    with follow(server.client, path) as frames:
        assert [next(frames).retry, next(frames).event] == ["2000", "snapshot"]
        created = server.client.post("/api/v1/keys", json={"name": "first", "role": "operator"})
        assert created.status_code == 201
        read_to_end(frames)
    expect_problem(server.client.get(path), 401, "unauthorized")
    headers = {"Authorization": f"Bearer {created.json()['key']}"}
    with follow(server.client, path, **headers) as frames:
        assert [next(frames).retry, next(frames).event] == ["2000", "snapshot"]
        second = server.client.post("/api/v1/keys", json={"name": "second", "role": "operator"}, headers=headers).json()
        gone = server.client.delete(f"/api/v1/keys/{created.json()['key_id']}", headers=headers)
        assert gone.status_code == 204
        read_to_end(frames)
    expect_problem(server.client.get(path, headers=headers), 401, "unauthorized")
    assert server.client.head(path, headers={"Authorization": f"Bearer {second['key']}"}).status_code == 200


def test_a_key_has_so_many_streams(server: RunningServer, make_key: MakeKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_STREAMS_PER_KEY", "2")
    get_settings.cache_clear()
    path = stream_of(submit("anything", {}).task_id)
    mine, other = make_key("operator"), make_key("operator")
    with follow(server.client, QUEUES, **mine) as first, follow(server.client, path, **mine) as second:
        assert [next(first).retry, next(second).retry] == ["2000", "2000"]
        for refused in (path, QUEUES):
            response = server.client.get(refused, headers=mine)
            expect_problem(response, 429, "too-many-requests")
            assert response.headers["retry-after"]
        with follow(server.client, path, **other) as frames:
            assert next(frames).retry == "2000"
    with follow(server.client, path, **mine) as frames:  # the places of closed streams are free again
        assert next(frames).retry == "2000"


# Tokens.


@pytest.fixture
def get_token(client: TestClient) -> Callable[..., str]:
    def get_token(path: str, headers: dict[str, str]) -> str:
        response = client.post(TOKENS, json={"path": path}, headers=headers)
        assert response.status_code == 200, response.text
        assert response.headers["cache-control"] == "no-store"
        document = response.json()
        remaining = datetime.fromisoformat(document["expires_at"]).timestamp() - time.time()
        assert 200 < remaining <= 300
        token: str = document["token"]
        return token

    return get_token


def test_a_token_is_good_for_one_path_and_for_reading(
    client: TestClient, make_key: MakeKey, get_token: Callable[..., str]
) -> None:
    paths = [stream_of(submit("anything", {}).task_id) for _ in range(2)]
    key = make_key("operator")
    token = get_token(paths[0], key)
    assert client.head(paths[0], params={"token": token}).status_code == 200
    assert client.head(f"{paths[0]}/", params={"token": token, "after": "1"}).status_code == 200
    elsewhere = [
        paths[1],
        QUEUES,
        paths[0].removesuffix("/stream"),
        "/api/v1/tasks",
        paths[0].replace("/v1/tasks", "/task"),
    ]
    assert [client.head(path, params={"token": token}).status_code for path in elsewhere] == [401] * 5
    for method in ("POST", "DELETE"):
        path = paths[0].replace("/stream", "/cancel" if method == "POST" else "")
        assert client.request(method, path, params={"token": token}).status_code == 401


def test_a_token_that_was_changed_or_has_expired_is_refused(
    client: TestClient, make_key: MakeKey, get_token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stream_of(submit("anything", {}).task_id)
    mine, other = make_key(), make_key()
    token = get_token(path, mine)
    prefix, key_part, expires, signature = token.split("_")
    changed = [
        f"{prefix}_{read_key_id(other).removeprefix('ck_')}_{expires}_{signature}",  # another key
        f"{prefix}_{'0' * 32}_{expires}_{signature}",
        f"{prefix}_{key_part}_{int(expires) + 1}_{signature}",  # a later expiry
        f"{prefix}_{key_part}_{expires}_{signature[::-1]}",
        f"{prefix}_{key_part}_{expires}_", "", "x", "cbt_", mine["Authorization"].removeprefix("Bearer "),
    ]  # fmt: skip
    for text in changed:
        expect_problem(client.get(path, params={"token": text}), 401, "unauthorized")
    monkeypatch.setattr(tokens, "time", lambda: int(expires) - 0.1)
    assert client.head(path, params={"token": token}).status_code == 200
    monkeypatch.setattr(tokens, "time", lambda: float(expires))
    expect_problem(client.get(path, params={"token": token}), 401, "unauthorized")
    # One for years, which the owner of the key has signed; or the servers' clocks have been set back.
    monkeypatch.setattr(tokens, "time", lambda: float(expires) - tokens.LIFETIME - 3600)
    assert client.head(path, params={"token": token}).status_code == 401


def test_a_token_allows_what_its_key_allows(
    client: TestClient, make_key: MakeKey, get_token: Callable[..., str]
) -> None:
    for headers in (make_key("reader"), make_key("operator", "a")):
        expect_problem(client.post(TOKENS, json={"path": QUEUES}, headers=headers), 403, "forbidden")
    token = get_token(QUEUES, make_key("operator"))
    assert client.head(QUEUES, params={"token": token}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["", "/", "/api/v1/tasks", "/api/v1/queues/stream?after=1", "/api/v1/keys", "//api/v1/queues/stream", "https://x"],
)
def test_tokens_are_for_streams_and_contents_only(path: str, client: TestClient, make_key: MakeKey) -> None:
    expect_problem(client.post(TOKENS, json={"path": path}, headers=make_key("operator")), 422, "invalid-input")


def test_where_no_key_is_asked_for_no_token_is_needed(client: TestClient) -> None:
    path = stream_of(submit("anything", {}).task_id)
    assert client.post(TOKENS, json={"path": path}).json() == {"token": None, "expires_at": None}
    with TestClient(create_app(caller=Caller("operator")), **LOCAL) as own:  # type: ignore[arg-type]
        assert own.post(TOKENS, json={"path": path}).json()["token"] is None
        assert own.head(path).status_code == 200


def test_a_token_for_a_content(client: TestClient, make_key: MakeKey, get_token: Callable[..., str]) -> None:
    path = f"/api/v1/contents/gc_{'0' * 32}"
    token = get_token(path, make_key("reader", "a"))
    assert client.get(path, params={"token": token}).status_code == 404  # authorized, and there is none
    assert client.get(path).status_code == 401
