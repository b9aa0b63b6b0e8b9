"""Two server processes, as people start them, and a database that goes away."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from psycopg.conninfo import conninfo_to_dict

from state import submit
from tests.support.eventually import eventually
from tests.support.following import follow
from tests.support.postgres import TestPostgres
from tests.taskapi.problems import expect_problem

ROOT = Path(__file__).parents[2]
TASKS = "/api/v1/tasks"
KEYS = "/api/v1/keys"


@contextmanager
def start_server(log: Path) -> Iterator[httpx2.Client]:
    command = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--port", "0"]
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=os.environ, stdout=out, stderr=out)

    def address() -> str | None:
        assert process.poll() is None, log.read_text()
        return log.read_text().partition("running on ")[2].partition(" ")[0] or None

    try:
        url = eventually(address, what="the server prints its address")
        with httpx2.Client(base_url=url, timeout=30, trust_env=False) as client:
            yield client
        process.terminate()
        process.wait(20)
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture
def servers(database_url: str, tmp_path: Path) -> Iterator[list[httpx2.Client]]:
    with start_server(tmp_path / "one.log") as one, start_server(tmp_path / "two.log") as two:
        yield [one, two]


def test_two_servers_agree_on_keys_within_seconds_and_are_closed_without_the_database(
    servers: list[httpx2.Client], postgres: TestPostgres, database_url: str, tmp_path: Path
) -> None:
    one, two = servers
    path = f"{TASKS}/{submit('summarize', {'content': 'One. Two.'}).task_id}/stream"
    assert [server.get(TASKS).status_code for server in servers] == [200, 200]

    # The first key, made at one server, closes the other one as well, and ends its streams without a key.
    with follow(two, path) as frames:
        assert next(frames).retry == "2000"
        first = one.post(KEYS, json={"name": "first", "role": "operator"}).json()
        assert [frame.event for frame in frames if frame.event] in ([], ["snapshot"])
    assert eventually(lambda: two.get(TASKS).status_code == 401)
    boss = {"Authorization": f"Bearer {first['key']}"}
    assert two.get(TASKS, headers=boss).status_code == 200

    # A key that one server creates works at the other at once; its end there ends its streams here.
    other = one.post(KEYS, json={"name": "other", "role": "reader"}, headers=boss).json()
    headers = {"Authorization": f"Bearer {other['key']}"}
    token = one.post("/api/v1/stream-tokens", json={"path": path}, headers=headers).json()["token"]
    with follow(two, path, **headers) as by_key, follow(two, f"{path}?token={token}") as by_token:
        assert [next(by_key).retry, next(by_token).retry] == ["2000", "2000"]
        assert one.delete(f"{KEYS}/{other['key_id']}", headers=boss).status_code == 204
        expect_problem(one.get(TASKS, headers=headers), 401, "unauthorized")
        assert [frame.event for frame in (*by_key, *by_token) if frame.event] == ["snapshot", "snapshot"]
    expect_problem(two.get(TASKS, headers=headers), 401, "unauthorized")

    # Without the database nobody is let in; with it, everything is as before.
    with cut_off(postgres, str(conninfo_to_dict(database_url)["dbname"])):
        eventually(lambda: one.get(TASKS, headers=boss).status_code == 503, what="the cached keys are too old")
        for given in (boss, headers, {}):
            expect_problem(one.get(TASKS, headers=given), 503, "not-ready")
        assert one.get("/livez").status_code == 200
    eventually(lambda: one.get(TASKS, headers=boss).status_code == 200, what="the server serves again")
    expect_problem(one.get(TASKS), 401, "unauthorized")

    for text in ((tmp_path / "one.log").read_text(), (tmp_path / "two.log").read_text()):
        assert all(secret not in text for secret in (first["key"], other["key"], token))


@contextmanager
def cut_off(postgres: TestPostgres, database: str) -> Iterator[None]:
    """Ends all connections to one database, and lets nobody in again."""
    postgres.execute(f"ALTER DATABASE {database} WITH ALLOW_CONNECTIONS false")
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
    try:
        yield
    finally:
        postgres.execute(f"ALTER DATABASE {database} WITH ALLOW_CONNECTIONS true")
