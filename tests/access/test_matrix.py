"""Every operation with every kind of caller, and with the ids of another tenant. The list of operations is the
application's own, what is allowed is what docs/http.md says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from state.access.caller import ROLES
from state.access.keys import create_key, revoke_key
from taskapi.api.operation import Operation, build_routes
from taskapi.app import OPERATIONS, create_app
from tests.access.conftest import LOCAL
from tests.access.rows import Rows, is_about_a_row, make_rows
from tests.docs.documents import read, read_tables
from tests.support.observer import Observer

PATHS = sorted(  # what hides a row comes last
    [(operation, path) for operation in OPERATIONS for path in operation.paths],
    key=lambda each: each[0].method == "DELETE",
)
CALLERS = [(role, tenant) for role in ROLES for tenant in ("a", "b", None)]
CREATES = {"PUT /api/v1/prompts/{prompt_id}"}  # an id that is free in the caller's own tenant


@pytest.fixture
def keys(database_url: str) -> dict[tuple[str, str | None], str]:
    """Keys of all roles, for tenants a and b and for none."""
    return {(role, tenant): create_key(f"{role} {tenant}", role, tenant=tenant)[1] for role, tenant in CALLERS}


@pytest.fixture
def client(actors: None, keys: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr("taskapi.access.keyring._PAUSE", 0.0)  # many requests have a key that is not valid
    with TestClient(create_app(), **LOCAL, raise_server_exceptions=False) as client:  # type: ignore[arg-type]
        yield client


def send(client: TestClient, operation: Operation, path: str, rows: Rows, key: str | None) -> httpx2.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    follows = "text/event-stream" in operation.responses.values()  # a stream would not end
    method = "HEAD" if follows else operation.method
    return client.request(method, rows.make_path(path), headers=headers, json=rows.make_body(operation))


def tell(about: str, who: str, response: httpx2.Response) -> str:
    return f"{about}, {who}: {response.status_code} {response.text[:160]}"


def read_documented_callers() -> dict[tuple[str, str], list[str]]:
    rows = read_tables(read("docs/http.md"), "| method | path | who | success | errors | what it does |")
    return {(row[0], row[1]): [part.strip() for part in row[2].split(",")] for row in rows}


def is_allowed(who: list[str], role: str, tenant: str | None) -> bool:
    if who == ["anyone"]:
        return True
    needed, scope = who
    return ROLES.index(role) >= ROLES.index(needed) and (scope != "all" or tenant is None)


def test_the_allowed_set_is_exactly_the_documented_one(
    client: TestClient, keys: dict[tuple[str, str | None], str], tmp_path: Path
) -> None:
    documented = read_documented_callers()
    rows = {tenant: make_rows(tenant, tmp_path) for tenant in ("a", "b", None)}
    revoked, revoked_key = create_key("revoked", "operator")
    revoke_key(revoked.id)
    wrong: list[str] = []
    for operation, path in PATHS:
        about = f"{operation.method} {path}"
        who = documented.get((operation.method, path))
        if who is None:
            wrong.append(f"{about}: not documented")
            continue
        for key in (None, revoked_key):
            response = send(client, operation, path, rows["a"], key)
            if (response.status_code == 401) != (who != ["anyone"]):
                wrong.append(tell(about, "without a valid key", response))
        for role, tenant in CALLERS:
            response = send(client, operation, path, rows[tenant], keys[role, tenant])
            token = response.json()["error"] if response.status_code == 403 and response.content else None
            allowed = response.status_code not in (401, 403)
            fails = response.status_code >= 500 and path != "/health"  # there is no worker
            if allowed != is_allowed(who, role, tenant) or token not in (None, "forbidden") or fails:
                wrong.append(tell(about, f"{role} of {tenant}", response))
    assert not wrong, "\n".join(wrong)


def test_every_id_of_another_tenant_does_not_exist(
    client: TestClient, keys: dict[tuple[str, str | None], str], tmp_path: Path, connection: Observer
) -> None:
    rows = {tenant: make_rows(tenant, tmp_path) for tenant in ("a", "b", None)}
    about_rows = [(operation, path) for operation, path in PATHS if is_about_a_row(path)]
    assert len(about_rows) > 40
    before = read_everything(connection)
    wrong: list[str] = []
    for operation, path in about_rows:
        about = f"{operation.method} {path}"
        if about in CREATES:
            continue
        for mine, owner in (("b", "a"), ("a", "b"), ("a", None)):
            response = send(client, operation, path, rows[owner], keys["operator", mine])
            if response.status_code != 404 or (response.content and "not-found" not in response.json()["error"]):
                wrong.append(tell(about, f"{mine} asks for what is {owner}'s", response))
    assert not wrong, "\n".join(wrong)
    assert read_everything(connection) == before, "a request about another tenant's row has changed something"
    for operation, path in about_rows:  # the same requests find the caller's own rows
        for tenant in ("a", "b"):
            response = send(client, operation, path, rows[tenant], keys["operator", tenant])
            if response.status_code == 404 or response.status_code >= 500:
                wrong.append(tell(f"{operation.method} {path}", f"{tenant}'s own", response))
    assert not wrong, "\n".join(wrong)


def test_lists_have_rows_of_the_own_tenant_only(
    client: TestClient, keys: dict[tuple[str, str | None], str], tmp_path: Path
) -> None:
    rows = {tenant: make_rows(tenant, tmp_path) for tenant in ("a", "b", None)}
    foreign = {value for tenant in ("a", None) for value in rows[tenant].by_parameter.values()} - {"local"}
    for operation in OPERATIONS:
        if operation.method == "GET" and operation.scope == "tenant" and "{" not in operation.path:
            for query in ("", "?tenant=a"):
                path = f"{operation.path}{query}"
                response = client.get(path, headers={"Authorization": f"Bearer {keys['operator', 'b']}"})
                if response.status_code == 422:  # a list without this filter, or with one that it needs
                    continue
                assert response.status_code == 200, (path, response.text)
                assert [each for each in foreign if each in response.text] == [], path
                if query and response.text:  # an export without tasks has no lines
                    assert response.json().get("items", []) == [], path


def read_everything(connection: Observer) -> dict[str, str]:
    """A digest of every table that tenants' rows are in."""
    tables = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'callboard' AND tablename NOT IN ('api_keys', 'gates')"
    ).fetchall()
    names = [row["tablename"] for row in tables]
    assert {"tasks", "events", "projects", "workflows", "prompts", "schedules"} <= set(names)
    query = "SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) AS digest FROM callboard.{} t"
    return {name: connection.fetch_one(query.format(name))["digest"] for name in names}


# Declarations.


def test_an_operation_without_a_role_or_a_scope_cannot_be_declared() -> None:
    async def handler(_: object) -> Any: ...

    for given in ({}, {"role": "reader"}, {"scope": "any"}):
        with pytest.raises(TypeError, match=r"role|scope"):
            Operation("GET", "/", handler, "", {200: None}, **given)  # type: ignore[arg-type]


def test_every_route_of_the_application_comes_from_an_operation() -> None:
    app = create_app()
    declared = {route.path: route.methods for route in build_routes(OPERATIONS)}
    assert all(type(route) is Route for route in app.routes)  # no mounts, no websockets
    assert {route.path: route.methods for route in app.routes if isinstance(route, Route)} == declared
