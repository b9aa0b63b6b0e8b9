"""`callboard prove`, as users run it."""

import json
import re
from pathlib import Path

import psycopg
import pytest

from tests.cli.command import callboard
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres

ACTORS = "actors,tests.chaos.provedactors"
LAST_LINE = r"faults \d+ accepted \d+ lost 0 doubled 0 over_limit 0 missed_events 0"


def list_databases(postgres: TestPostgres) -> set[str]:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        return {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}


def test_a_proof_of_own_actors(database_url: str, postgres: TestPostgres, connection: Observer, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    done = callboard("prove", "--seed", "0", "--seconds", "10", "--keep", str(folder), CALLBOARD_ACTORS=ACTORS)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    lines = done.stdout.splitlines()
    assert lines[0] == "actors: proved_coroutine, proved_failure, proved_thread"
    assert lines[1].startswith("left out: proved_needy")
    assert re.fullmatch(LAST_LINE, lines[-1])
    kills, accepted, executions, streams, webhooks = (
        int(re.findall(rf"^  {name} +(\d+)$", done.stdout, re.MULTILINE)[0])
        for name in ("kills", "accepted", "executions", "streams", "webhooks")
    )
    assert kills >= 1
    assert executions >= accepted / 2 >= 5  # some were canceled before they began
    assert streams >= 1
    assert webhooks >= 1
    journal = [json.loads(line) for line in (folder / "tasks.journal").read_text().splitlines()]
    ends = {line["how"] for line in journal if line["what"] == "end"}
    assert ends >= {"done", "Refused"}
    assert {gate for line in journal if line["what"] == "begin" for gate in line["gates"]} >= {"provider:proved"}
    assert "callboard_prove" not in list_databases(postgres)
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks")["n"] == 0  # the user's own is left alone


def test_a_role_that_may_not_create_databases(database_url: str, postgres: TestPostgres, connection: Observer) -> None:
    postgres.execute("DROP ROLE IF EXISTS prover; CREATE ROLE prover LOGIN")
    try:
        done = callboard("prove", CALLBOARD_DATABASE_URL=psycopg.conninfo.make_conninfo(database_url, user="prover"))
    finally:
        postgres.execute("DROP ROLE prover")
    assert done.returncode == 5
    assert "may not create the scratch database callboard_prove" in done.stderr
    assert "ALTER ROLE prover CREATEDB" in done.stderr


def test_a_proof_beside_another_one(database_url: str, postgres: TestPostgres) -> None:
    postgres.execute("CREATE DATABASE callboard_prove")
    with psycopg.connect(postgres.url("callboard_prove")):
        done = callboard("prove", CALLBOARD_ACTORS=ACTORS)
    postgres.execute("DROP DATABASE callboard_prove WITH (FORCE)")
    assert done.returncode == 5
    assert "Another proof is under way" in done.stderr


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ("nobody", "nobody"),
        ("proved_needy", "payload.what"),
        ("proved_needy={", "not JSON"),
    ],
)
def test_a_task_that_cannot_be_submitted(database_url: str, task: str, says: str) -> None:
    done = callboard("prove", "--task", task, CALLBOARD_ACTORS=ACTORS)
    assert done.returncode == 2
    assert says in done.stderr
