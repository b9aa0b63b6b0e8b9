"""Who calls: keys, whatever is none, and requests without one."""

import hmac
from collections.abc import AsyncIterator

import pytest
from starlette.testclient import TestClient

from state.access.caller import Caller
from state.access.keys import create_key, parse_key_id, revoke_key
from taskapi import create_app
from tests.access.conftest import LOCAL, MakeKey, forget_keys
from tests.taskapi.problems import expect_problem

TASKS = "/api/v1/tasks"


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
