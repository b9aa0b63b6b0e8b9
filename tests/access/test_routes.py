"""The routes of keys."""

from starlette.testclient import TestClient

from state.access.keys import list_keys, parse_key_id
from tests.access.conftest import MakeKey
from tests.taskapi.problems import expect_problem

KEYS = "/api/v1/keys"


def test_a_key_is_created_shown_once_listed_and_revoked(client: TestClient, make_key: MakeKey) -> None:
    boss = make_key("operator")
    body = {"name": "shop", "role": "submitter", "tenant": "acme", "rate_limit": 600}
    created = client.post(KEYS, json=body, headers=boss)
    assert (created.status_code, created.headers["cache-control"]) == (201, "no-store")
    document = created.json()
    key = document.pop("key")
    assert parse_key_id(key) == document["key_id"]
    assert {name: document[name] for name in body} == body
    assert document["created_by"] == "operator of None"
    headers = {"Authorization": f"Bearer {key}"}
    task = client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}, headers=headers)
    assert (task.status_code, task.json()["tenant"]) == (202, "acme")
    listed = client.get(KEYS, headers=boss)
    assert listed.json()["items"][0] == document
    assert key.rpartition("_")[2] not in listed.text
    assert client.delete(f"{KEYS}/{document['key_id']}", headers=boss).status_code == 204
    expect_problem(client.get("/api/v1/tasks", headers=headers), 401, "unauthorized")  # at once, in this process
    assert client.delete(f"{KEYS}/{document['key_id']}", headers=boss).status_code == 204
    revoked = client.get(KEYS, headers=boss).json()["items"][0]
    assert (revoked["revoked_at"] is not None, revoked["revoked_by"]) == (True, "operator of None")


def test_the_list_has_pages(client: TestClient, make_key: MakeKey) -> None:
    boss = make_key("operator")
    for _ in range(4):
        make_key()
    found: list[str] = []
    cursor: str | None = None
    while cursor is not None or not found:
        query = {"limit": "2"} if cursor is None else {"limit": "2", "cursor": cursor}
        page = client.get(KEYS, params=query, headers=boss).json()
        found += [each["key_id"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert found == [key.id for key in list_keys()]
    expect_problem(client.get(KEYS, params={"cursor": "x"}, headers=boss), 422, "invalid-parameter")


def test_problems_of_keys(client: TestClient, make_key: MakeKey) -> None:
    boss = make_key("operator")
    for body in ({}, {"name": "x"}, {"name": "", "role": "reader"}, {"name": "x", "role": "root"},
                 {"name": "x", "role": "reader", "rate_limit": 0}, {"name": "x", "role": "reader", "tenant": ""},
                 {"name": "x\n", "role": "reader"}, {"name": "x", "role": "reader", "key": "mine"}):  # fmt: skip
        expect_problem(client.post(KEYS, json=body, headers=boss), 422, "invalid-input")
    for key_id in ("x", "ck_" + "0" * 32):
        expect_problem(client.delete(f"{KEYS}/{key_id}", headers=boss), 404, "key-not-found")
    [own] = list_keys()
    expect_problem(client.delete(f"{KEYS}/{own.id}", headers=boss), 409, "last-operator-key")
    assert client.get(KEYS, headers=boss).status_code == 200
