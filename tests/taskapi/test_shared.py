"""Requests that share a statement and a commit, at a real server process. A lock holds up the statement under way until
the others have arrived."""

import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from state import submit
from state.access.keys import create_key
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres

ROOT = Path(__file__).parents[2]
TASKS = "/api/v1/tasks"
INSERT, READ = "INSERT INTO callboard.tasks", "unnest($1::text[], $2::text[]) AS asked"


class Server:
    """Requests are sent on sockets of their own, and answered in any order."""

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, method: str, path: str, key: str, body: Any = None, **headers: str) -> socket.socket:
        raw = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if raw:
            lines += ["Content-Type: application/json", f"Content-Length: {len(raw)}"]
        sent = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        sent.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + raw)
        return sent

    def post(self, key: str, payload: Any, actor: str = "noop", **options: Any) -> socket.socket:
        return self.send("POST", TASKS, key, {"actor": actor, "payload": payload, **options})

    def get(self, key: str, task_id: str) -> socket.socket:
        return self.send("GET", f"{TASKS}/{task_id}", key)

    def let_arrive(self) -> None:
        """Returns when the server has read what was sent before: it accepts connections in their order."""
        for _ in range(3):
            assert receive(self.send("GET", "/livez", "none"))[0] == 200


def receive(sent: socket.socket) -> tuple[int, Any]:
    with sent:
        text = b"".join(iter(lambda: sent.recv(65536), b""))
    head, _, body = text.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


def receive_all(sent: Sequence[socket.socket]) -> list[tuple[int, Any]]:
    return [receive(each) for each in sent]


@pytest.fixture
def keys(database_url: str) -> dict[str, str]:
    return {tenant: create_key(tenant, "submitter", tenant=tenant)[1] for tenant in ("acme", "other")}


@pytest.fixture
def server(keys: dict[str, str], tmp_path: Path) -> Iterator[Server]:
    log = tmp_path / "server.log"
    command = ["-m", "uvicorn", "--app-dir", "http", "--factory", "taskapi:create_app", "--port", "0"]
    environment = {**os.environ, "CALLBOARD_ACTORS": "actors,tests.support.testactors"}
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, stdout=out, stderr=out)

    def find_port() -> str | None:
        assert process.poll() is None, log.read_text()
        found = re.search(r"running on http://127\.0\.0\.1:(\d+)", log.read_text())
        return found and found[1]

    try:
        running = Server(int(eventually(find_port, what="the server prints its address")))
        assert receive(running.post(keys["acme"], {}))[0] == 202  # it has read the keys, and has its connections
        yield running
        process.terminate()
        process.wait(20)
    finally:
        process.kill()
        process.wait(10)


@pytest.fixture
def statements(postgres: TestPostgres, connection: Observer) -> Callable[[str], int]:
    """Counts the executions of a statement by the server, by what its text contains, as Postgres logs them."""
    name = connection.info.dbname
    connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    begun = postgres.log_size()

    def count(text: str) -> int:
        entries = re.split(r"(?m)^(?=cb\|)", postgres.log_since(begun))
        return sum(
            entry.startswith(f"cb|{name}|callboard")
            and text in entry
            and re.search(r"execute|statement:", entry) is not None
            for entry in entries
        )

    return count


@contextmanager
def hold_up(database_url: str, mode: str) -> Iterator[psycopg.Connection[Any]]:
    """Locks the tasks: statements wait."""
    with psycopg.connect(database_url) as holder:
        holder.execute(f"LOCK TABLE callboard.tasks IN {mode} MODE")
        yield holder
        if not holder.closed:
            holder.rollback()


def count_tasks(connection: Observer) -> Counter[str]:
    rows = connection.execute("SELECT payload ->> 'text' AS text FROM callboard.tasks WHERE payload ->> 'text' <> ''")
    return Counter(row["text"] for row in rows)


def test_200_submits_share_a_few_statements(
    statements: Callable[[str], int],
    server: Server,
    keys: dict[str, str],
    database_url: str,
    connection: Observer,
) -> None:
    """Of two tenants; some of them leave, and one is refused before it gets that far."""
    before = statements(INSERT)
    tenants = ["acme" if number % 3 else "other" for number in range(200)]
    with hold_up(database_url, "SHARE"):
        sent = [server.post(keys[tenant], {"text": f"n{number}"}) for number, tenant in enumerate(tenants)]
        unknown = server.post(keys["acme"], {}, actor="nobody")
        forbidden = server.post(keys["acme"], {"text": "forbidden"}, tenant="other")
        server.let_arrive()
        for leaving in sent[50:60]:
            leaving.close()
    answers = receive_all(sent[:50] + sent[60:])
    assert receive(unknown)[1]["error"] == "unknown-actor"
    assert receive(forbidden)[1]["error"] == "forbidden"
    assert {status for status, _ in answers} == {202}
    numbers = [*range(50), *range(60, 200)]
    assert [(task["payload"]["text"], task["tenant"]) for _, task in answers] == [
        (f"n{number}", tenants[number]) for number in numbers
    ]
    assert len({task["task_id"] for _, task in answers}) == 190
    eventually(lambda: len(count_tasks(connection)) == 200, what="those who have left have their tasks as well")
    assert set(count_tasks(connection).values()) == {1}
    assert statements(INSERT) - before <= 10
    assert statements("BEGIN") == 0  # each statement is a transaction of its own


def test_one_bad_row_fails_alone(server: Server, keys: dict[str, str], database_url: str, connection: Observer) -> None:
    connection.execute("ALTER TABLE callboard.tasks ADD CHECK (payload ->> 'text' IS DISTINCT FROM 'n7')")
    with hold_up(database_url, "SHARE"):
        sent = [server.post(keys["acme"], {"text": f"n{number}"}) for number in range(20)]
        server.let_arrive()
    statuses = [status for status, _ in receive_all(sent)]
    assert statuses == [500 if number == 7 else 202 for number in range(20)]
    assert sorted(count_tasks(connection).values()) == [1] * 19


def test_those_with_keys_go_alone(
    statements: Callable[[str], int], server: Server, keys: dict[str, str], database_url: str, connection: Observer
) -> None:
    body = {"actor": "noop", "payload": {"text": "once"}}
    with hold_up(database_url, "SHARE"):
        sent = [server.post(keys["acme"], {"text": "dedup"}, dedup_key="k") for _ in range(3)]
        sent += [server.send("POST", TASKS, keys["acme"], body, Idempotency_Key="i") for _ in range(2)]
        server.let_arrive()
    answers = receive_all(sent)
    assert sorted(status for status, _ in answers[:3]) == [200, 200, 202]
    assert len({task["task_id"] for _, task in answers[:3]}) == 1
    assert {status for status, _ in answers[3:]} <= {202, 409}
    assert count_tasks(connection) == {"dedup": 1, "once": 1}
    assert statements("BEGIN") >= 4


def test_reads_share_a_statement_and_keep_tenants_apart(
    statements: Callable[[str], int], server: Server, keys: dict[str, str], database_url: str
) -> None:
    ids = {tenant: submit("summarize", {"content": "One."}, tenant=tenant).task_id for tenant in keys}
    before = statements(READ)
    with hold_up(database_url, "ACCESS EXCLUSIVE"):
        sent = [(asks, owns, server.get(keys[asks], ids[owns])) for asks in keys for owns in keys for _ in range(25)]
        server.let_arrive()
    for asks, owns, each in sent:
        status, answer = receive(each)
        assert (status, answer["task_id"]) == (200 if asks == owns else 404, ids[owns])
        assert ("payload" in answer) == (asks == owns)
    assert 1 <= statements(READ) - before <= 6


def test_a_restart_of_postgres_loses_and_doubles_nothing(
    server: Server, keys: dict[str, str], database_url: str, postgres: TestPostgres
) -> None:
    with hold_up(database_url, "SHARE") as holder:
        sent = [server.post(keys["acme"], {"text": f"n{number}"}) for number in range(50)]
        server.let_arrive()
        postgres.restart("immediate")
        holder.close()
    assert {status for status, _ in receive_all(sent)} == {202}
    with Observer.open(database_url) as connection:
        assert count_tasks(connection) == {f"n{number}": 1 for number in range(50)}
